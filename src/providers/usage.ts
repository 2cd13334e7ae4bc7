/**
 * The provider's usage, parsed from the usage object of the OpenAI format and its variants. Zero is not absent:
 * `{prompt_tokens: 0, completion_tokens: 0}` is a usage of zero, `null` is no usage.
 */
import { getCount, isObject, parseCount, type Json } from './json-fields.ts'
import { findUsage, parseCacheCounts } from './usage-counts.ts'

/**
 * Tokens that are not text, with the total that they are part of. `inputImage` includes those of `cachedInputImage`, as the
 * input includes the cached input.
 */
export const modalities = {
  inputImage: 'input',
  inputAudio: 'input',
  cachedInputImage: 'cachedInput',
  cachedInputAudio: 'cachedInput',
  outputImage: 'output',
  outputAudio: 'output',
} as const
export type Modality = keyof typeof modalities
export const modalityNames = Object.keys(modalities) as readonly Modality[]
export type ModalityTokens = Readonly<Partial<Record<Modality, number>>>

export interface ImageToolTokens {
  readonly input: number
  readonly output: number
}

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
  /** Tokens of images and audio. Absent: all are text. */
  readonly modality?: ModalityTokens
  /** Calls of other tools that the provider ran, by name, or by class (image-classes.ts). Absent: none. */
  readonly toolCalls?: Readonly<Record<string, number>>
  /** Tokens that the image tool used, in addition to the others; never in the usage of a bill. Absent: not stated. */
  readonly imageTool?: ImageToolTokens
  /** The service tier, unless it is the default one. */
  readonly tier?: string
}

export const noUsage: TokenUsage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** Present but not a valid count: the usage cannot be read. */
function isInvalidCount(value: unknown): boolean {
  return value !== undefined && value !== null && parseCount(value) === undefined
}

function nestedCount(usage: Json, group: string, name: string): number | undefined {
  const details = usage[group]
  return isObject(details) ? parseCount(details[name]) : undefined
}

/**
 * Parses the `usage` of a response or a chunk: totals from `prompt_tokens` and `completion_tokens`, cached tokens by every
 * name in usage-counts.ts. Reasoning is part of `completion_tokens` unless `total_tokens` shows that it is separate (xAI).
 * `null` if there is no usage, or if a count is invalid.
 */
export function parseUsage(value: unknown): TokenUsage | null {
  if (!isObject(value)) return null
  const prompt = parseCount(value['prompt_tokens'])
  const completion = parseCount(value['completion_tokens'])
  const total = parseCount(value['total_tokens'])
  if (prompt === undefined && completion === undefined && total === undefined) return null
  if (isInvalidCount(value['prompt_tokens']) || isInvalidCount(value['completion_tokens'])) return null
  // No prompt has no tokens: a zero that the total contradicts is not known.
  const input = prompt || Math.max(0, (total ?? 0) - (completion ?? 0))
  const written = completion ?? Math.max(0, (total ?? 0) - input)
  const reasoning = nestedCount(value, 'completion_tokens_details', 'reasoning_tokens') ?? 0
  const isReasoningSeparate = reasoning > 0 && total === input + written + reasoning
  const output = isReasoningSeparate ? written + reasoning : written
  return createUsage({
    input,
    ...parseCacheCounts(value),
    output,
    reasoning,
    searches: parseSearches(value),
    modality: parseModality(value),
    tier: parseServiceTier(value['service_tier']),
    toolCalls: parseToolCalls(value['server_tool_calls']),
    imageTool: parseImageTool(value['image_tool_usage']),
  })
}

/** The usage of a whole response in the OpenAI format; `null`: it has none. */
export function parseUsageOf(response: Json): TokenUsage | null {
  return parseUsage(findUsage(response))
}

/** Names of the tier that a model's price is for: OpenAI's and Groq's, Anthropic's. */
export const defaultTiers: ReadonlySet<unknown> = new Set([
  'auto',
  'default',
  'on_demand',
  'standard',
  'standard_only',
])
const tierPattern = /^[a-z][a-z0-9_]{0,31}$/

/** A service tier that is not the default one. OpenAI's responses call the tier `fast` `priority`. */
export function parseServiceTier(value: unknown): string | undefined {
  if (typeof value !== 'string' || defaultTiers.has(value) || !tierPattern.test(value)) return undefined
  return value === 'fast' ? 'priority' : value
}

/** Calls of the provider's tools, as `serializeUsage` writes them. */
function parseToolCalls(value: unknown): Record<string, number> | undefined {
  if (!isObject(value)) return undefined
  const calls = Object.entries(value).flatMap(([name, count]) => {
    const calls = parseCount(count)
    return calls ? [[name, Math.min(calls, maxSearches)] as const] : []
  })
  return Object.fromEntries(calls)
}

/** Tokens of the image tool, as `serializeUsage` writes them. */
function parseImageTool(value: unknown): ImageToolTokens | undefined {
  if (!isObject(value)) return undefined
  return { input: getCount(value, 'input_tokens'), output: getCount(value, 'output_tokens') }
}

/**
 * Image and audio tokens (OpenAI, `prompt_tokens_details` and `completion_tokens_details`; the cached ones by modality in
 * `cached_tokens_details`).
 */
function parseModality(usage: Json): { readonly [Name in Modality]?: number | undefined } | undefined {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage
  if (!isObject(prompt) && !isObject(completion)) return undefined
  const cached = isObject(prompt) ? prompt : {}
  return {
    inputImage: nestedCount(usage, 'prompt_tokens_details', 'image_tokens'),
    inputAudio: nestedCount(usage, 'prompt_tokens_details', 'audio_tokens'),
    cachedInputImage: nestedCount(cached, 'cached_tokens_details', 'image_tokens'),
    cachedInputAudio: nestedCount(cached, 'cached_tokens_details', 'audio_tokens'),
    outputImage: nestedCount(usage, 'completion_tokens_details', 'image_tokens'),
    outputAudio: nestedCount(usage, 'completion_tokens_details', 'audio_tokens'),
  }
}

/**
 * Web searches in a usage: of Anthropic and OpenRouter (`server_tool_use`), Perplexity (`num_search_queries`), xAI, which
 * bills each source (`num_sources_used`, "Live Search"), and Qwen (`plugins`, "Web search").
 */
function parseSearches(usage: Json): number | undefined {
  const { plugins } = usage
  const counts = [
    nestedCount(usage, 'server_tool_use', 'web_search_requests'),
    parseCount(usage['num_search_queries']),
    parseCount(usage['num_sources_used']),
    isObject(plugins) ? nestedCount(plugins, 'search', 'count') : undefined,
  ].filter((count) => count !== undefined)
  return counts.length === 0 ? undefined : Math.max(...counts)
}

function mediaDetails(images: number | undefined, audio: number | undefined): Json {
  return { ...(images ? { image_tokens: images } : {}), ...(audio ? { audio_tokens: audio } : {}) }
}

/** Usage in the OpenAI format: cached tokens are part of the prompt, reasoning is part of the completion. */
export function serializeUsage(usage: TokenUsage): Json {
  const { modality } = usage
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInput,
      cache_write_tokens: usage.cacheWrite,
      ...(usage.cacheWrite1h ? { cache_write_1h_tokens: usage.cacheWrite1h } : {}),
      ...(modality ? mediaDetails(modality.inputImage, modality.inputAudio) : {}),
      ...(modality?.cachedInputImage || modality?.cachedInputAudio
        ? { cached_tokens_details: mediaDetails(modality.cachedInputImage, modality.cachedInputAudio) }
        : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      ...(modality ? mediaDetails(modality.outputImage, modality.outputAudio) : {}),
    },
    ...(usage.tier === undefined ? {} : { service_tier: usage.tier }),
    ...(usage.toolCalls ? { server_tool_calls: usage.toolCalls } : {}),
    ...(usage.imageTool
      ? {
          image_tool_usage: {
            input_tokens: usage.imageTool.input,
            output_tokens: usage.imageTool.output,
          },
        }
      : {}),
    ...(usage.searches ? { server_tool_use: { web_search_requests: usage.searches } } : {}),
  }
}

/** Bounds the parts by their totals, and omits optional counts of zero. */
export function createUsage(
  counts: { readonly [Count in keyof Omit<TokenUsage, 'modality'>]?: TokenUsage[Count] | undefined } & {
    readonly modality?: { readonly [Name in Modality]?: number | undefined } | undefined
  },
): TokenUsage {
  const { input = 0, output = 0, searches = 0 } = counts
  const cachedInput = Math.min(counts.cachedInput ?? 0, input)
  const cacheWrite = Math.min(counts.cacheWrite ?? 0, input - cachedInput)
  const cacheWrite1h = Math.min(counts.cacheWrite1h ?? 0, cacheWrite)
  const reasoning = Math.min(counts.reasoning ?? 0, output)
  return {
    input,
    cachedInput,
    cacheWrite,
    ...(cacheWrite1h > 0 ? { cacheWrite1h } : {}),
    output,
    reasoning,
    ...(searches > 0 ? { searches } : {}),
    ...boundedModality(counts.modality, {
      input: input - cacheWrite,
      output: output - reasoning,
      cachedInput,
    }),
    ...(hasEntries(counts.toolCalls) ? { toolCalls: counts.toolCalls } : {}),
    ...(counts.imageTool ? { imageTool: counts.imageTool } : {}),
    ...(counts.tier === undefined ? {} : { tier: counts.tier }),
  }
}

const hasEntries = (counts: object | undefined): counts is object =>
  counts !== undefined && Object.keys(counts).length > 0

/** Bounds the tokens by those that are left for them. Cached tokens of no stated modality are text first, then images. */
function boundedModality(
  tokens: { readonly [Name in Modality]?: number | undefined } | undefined,
  left: { readonly input: number; readonly output: number; readonly cachedInput: number },
): { modality?: ModalityTokens } {
  if (!tokens) return {}
  const inputAudio = Math.min(tokens.inputAudio ?? 0, left.input)
  const inputImage = Math.min(tokens.inputImage ?? 0, left.input - inputAudio)
  const outputAudio = Math.min(tokens.outputAudio ?? 0, left.output)
  const outputImage = Math.min(tokens.outputImage ?? 0, left.output - outputAudio)
  if (inputAudio + inputImage + outputAudio + outputImage === 0) return {}
  const statedImage = Math.min(tokens.cachedInputImage ?? 0, inputImage, left.cachedInput)
  const statedAudio = Math.min(tokens.cachedInputAudio ?? 0, inputAudio, left.cachedInput - statedImage)
  const text = left.input - inputImage - inputAudio
  const unstated = Math.max(0, left.cachedInput - text - statedImage - statedAudio)
  const cachedInputImage = Math.min(statedImage + unstated, inputImage)
  const cachedInputAudio = statedAudio + unstated - (cachedInputImage - statedImage)
  const all = { inputImage, inputAudio, cachedInputImage, cachedInputAudio, outputImage, outputAudio }
  return { modality: Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0)) }
}

/** How often each name occurs. */
export function countNames(names: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries(counts)
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
