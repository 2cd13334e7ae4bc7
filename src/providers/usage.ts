/**
 * The provider's usage, parsed from the usage object of the OpenAI format and its variants. Zero is not absent:
 * `{prompt_tokens: 0, completion_tokens: 0}` is a usage of zero, `null` is no usage.
 */
import { isObject, type Json } from './json-fields.ts'

/** Token counts as on the provider's invoice: parts are included in their totals. */
export interface TokenUsage {
  /** All input tokens, including cached ones. */
  readonly input: number
  /** Part of the input: read from the provider's cache. */
  readonly cachedInput: number
  /** Part of the input: written to the provider's cache. */
  readonly cacheWrite: number
  /** Part of the cache writes: those with a lifetime of one hour. Absent: none. */
  readonly cacheWrite1h?: number
  /** All output tokens, including reasoning. */
  readonly output: number
  /** Part of the output: reasoning. */
  readonly reasoning: number
  /** Web searches. Absent: none. */
  readonly searches?: number
}

export const noUsage: TokenUsage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** A valid count, or `undefined`. */
function parseCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined
}

/** Present but not a valid count: the usage cannot be read. */
function isInvalidCount(value: unknown): boolean {
  return value !== undefined && value !== null && parseCount(value) === undefined
}

function nestedCount(usage: Json, group: string, name: string): number | undefined {
  const details = usage[group]
  return isObject(details) ? parseCount(details[name]) : undefined
}

/**
 * Parses the `usage` of a response or a chunk: totals from `prompt_tokens` and `completion_tokens`, cached tokens from
 * `prompt_tokens_details`, `prompt_cache_hit_tokens` or `cached_tokens`. Reasoning is part of `completion_tokens`
 * unless `total_tokens` shows that it is separate (xAI). `null` if there is no usage, or if a count is invalid.
 */
export function parseUsage(value: unknown): TokenUsage | null {
  if (!isObject(value)) return null
  const prompt = parseCount(value['prompt_tokens'])
  const completion = parseCount(value['completion_tokens'])
  const total = parseCount(value['total_tokens'])
  if (prompt === undefined && completion === undefined && total === undefined) return null
  if (isInvalidCount(value['prompt_tokens']) || isInvalidCount(value['completion_tokens'])) return null
  const input = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0))
  const written = completion ?? Math.max(0, (total ?? 0) - input)
  const reasoning = nestedCount(value, 'completion_tokens_details', 'reasoning_tokens') ?? 0
  const isReasoningSeparate = reasoning > 0 && total === input + written + reasoning
  const output = isReasoningSeparate ? written + reasoning : written
  const cached =
    nestedCount(value, 'prompt_tokens_details', 'cached_tokens') ??
    parseCount(value['prompt_cache_hit_tokens']) ??
    parseCount(value['cached_tokens']) ??
    0
  const cacheWrite =
    nestedCount(value, 'prompt_tokens_details', 'cache_write_tokens') ??
    nestedCount(value, 'prompt_tokens_details', 'cache_creation_tokens') ??
    0
  return createUsage({
    input,
    cachedInput: cached,
    cacheWrite,
    cacheWrite1h: nestedCount(value, 'prompt_tokens_details', 'cache_write_1h_tokens'),
    output,
    reasoning,
    searches: parseSearches(value),
  })
}

/**
 * Web searches in a usage: of Anthropic and OpenRouter (`server_tool_use`), Perplexity (`num_search_queries`), xAI, which
 * bills each source (`num_sources_used`, "Live Search"), and Qwen (`plugins`, "Web search").
 */
function parseSearches(usage: Json): number | undefined {
  const { plugins } = usage
  return (
    nestedCount(usage, 'server_tool_use', 'web_search_requests') ??
    parseCount(usage['num_search_queries']) ??
    parseCount(usage['num_sources_used']) ??
    (isObject(plugins) ? nestedCount(plugins, 'search', 'count') : undefined)
  )
}

/** Usage in the OpenAI format: cached tokens are part of the prompt, reasoning is part of the completion. */
export function serializeUsage(usage: TokenUsage): Json {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInput,
      cache_write_tokens: usage.cacheWrite,
      ...(usage.cacheWrite1h ? { cache_write_1h_tokens: usage.cacheWrite1h } : {}),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    ...(usage.searches ? { server_tool_use: { web_search_requests: usage.searches } } : {}),
  }
}

/** Bounds the parts by their totals, and omits optional counts of zero. */
export function createUsage(counts: {
  readonly [Count in keyof TokenUsage]?: TokenUsage[Count] | undefined
}): TokenUsage {
  const { input = 0, output = 0, searches = 0 } = counts
  const cachedInput = Math.min(counts.cachedInput ?? 0, input)
  const cacheWrite = Math.min(counts.cacheWrite ?? 0, input - cachedInput)
  const cacheWrite1h = Math.min(counts.cacheWrite1h ?? 0, cacheWrite)
  return {
    input,
    cachedInput,
    cacheWrite,
    ...(cacheWrite1h > 0 ? { cacheWrite1h } : {}),
    output,
    reasoning: Math.min(counts.reasoning ?? 0, output),
    ...(searches > 0 ? { searches } : {}),
  }
}

/** No response makes more searches than this. */
const maxSearches = 1000

/** Limits the provider's usage to what the model can have; `isClamped` if it exceeded that. */
export function clampUsage(
  usage: TokenUsage,
  bounds: { input: number; output: number },
): { usage: TokenUsage; isClamped: boolean } {
  const searches = Math.min(usage.searches ?? 0, maxSearches)
  const isWithin = usage.input <= bounds.input && usage.output <= bounds.output
  if (isWithin && searches === (usage.searches ?? 0)) return { usage, isClamped: false }
  const input = Math.min(usage.input, bounds.input)
  const output = Math.min(usage.output, bounds.output)
  return { usage: createUsage({ ...usage, input, output, searches }), isClamped: true }
}
