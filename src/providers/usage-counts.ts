/**
 * What all formats of a usage have in common: its counts are cumulative, so a later one never lowers an earlier one; null is
 * no count; and the same count may stand under several names, of which some providers fill only one.
 */
import { getCount, getObject, getObjects, isObject, parseCount, type Json } from './json-fields.ts'

/** The usage so far after a further report of it: the larger of each count, and every detail until it is replaced. */
export function mergeUsage(before: Json | undefined, next: Json | undefined): Json | undefined {
  if (!before || !next) return next ?? before
  const merged: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(next)) {
    if (name !== '__proto__') merged[name] = mergeValue(before[name], value)
  }
  return merged
}

function mergeValue(before: unknown, next: unknown): unknown {
  if (next === undefined || next === null) return before
  if (before === undefined || before === null) return next
  if (isObject(before)) return isObject(next) ? mergeUsage(before, next) : before
  const known = parseCount(before)
  if (known !== undefined) return Math.max(known, parseCount(next) ?? 0)
  return Array.isArray(next) && next.length === 0 ? before : next
}

/** The usage in a response or chunk of the OpenAI format, wherever it stands; `undefined`: there is none. */
export function findUsage(json: Json): Json | undefined {
  // Groq's streams have it in `x_groq` (Groq, "Chat completions"), Moonshot's in the last choice (Kimi, "Chat").
  const places = [json, getObject(json, 'x_groq') ?? {}, ...getObjects(json, 'choices')]
  return places.reduce<Json | undefined>(
    (found, place) => mergeUsage(found, getObject(place, 'usage')),
    undefined,
  )
}

/**
 * The names of tokens that were read from the cache: OpenAI's, DeepSeek's (`prompt_cache_hit_tokens`), Moonshot's
 * (`cached_tokens` in the usage itself), and Anthropic's, which gateways keep.
 */
const readNames = ['cached_tokens', 'prompt_cache_hit_tokens', 'cache_read_input_tokens', 'cache_read_tokens']
/** Of tokens that were written to it: OpenAI's and OpenRouter's, LiteLLM's, and Anthropic's, which Qwen has as well. */
const writeNames = ['cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens']
/** Of those that were written for an hour. */
const longWriteNames = ['cache_write_1h_tokens']

const largest = (counts: readonly number[]): number => Math.max(0, ...counts)

/** Tokens that were written to the cache by their lifetimes (Anthropic, "Prompt caching"; Qwen, "Context cache"). */
export function parseLifetimes(place: Json): { readonly all: number; readonly long: number } {
  const lifetimes = getObject(place, 'cache_creation') ?? {}
  const long = getCount(lifetimes, 'ephemeral_1h_input_tokens')
  return { all: long + getCount(lifetimes, 'ephemeral_5m_input_tokens'), long }
}

/** The tokens read from and written to the cache, under any name that a provider has, in the usage or its details. */
export function parseCacheCounts(usage: Json): {
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly cacheWrite1h: number
} {
  const details = [getObject(usage, 'prompt_tokens_details'), getObject(usage, 'input_tokens_details')]
  const places = [usage, ...details.filter((each) => each !== undefined)]
  const named = (names: readonly string[]): number =>
    largest(places.flatMap((place) => names.map((name) => getCount(place, name))))
  const lifetimes = places.map(parseLifetimes)
  return {
    cachedInput: named(readNames),
    cacheWrite: largest([named(writeNames), ...lifetimes.map(({ all }) => all)]),
    cacheWrite1h: largest([named(longWriteNames), ...lifetimes.map(({ long }) => long)]),
  }
}
