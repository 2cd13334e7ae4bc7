/**
 * The provider's invoice, read from the usage object of the common format and its dialects.
 * Zero is not absent: `{prompt_tokens: 0, completion_tokens: 0}` is a bill of nothing, `null` is no bill.
 */

/** Token counts; parts are contained in their totals. */
export interface TokenUsage {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  /** Of these: kept for an hour; absent: none. */
  readonly cacheWrite1h?: number
  readonly output: number
  readonly reasoning: number
  /** Searches of the web that the provider did; absent: none. */
  readonly searches?: number
}

type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A count as providers write it; anything else is not one. */
function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined
}

/** Told, and no count: a bill that cannot be read. */
function isUnreadable(value: unknown): boolean {
  return value !== undefined && value !== null && countOf(value) === undefined
}

function countIn(usage: Json, group: string, name: string): number | undefined {
  const details = usage[group]
  return isObject(details) ? countOf(details[name]) : undefined
}

/**
 * Reads `usage` of a whole answer or a chunk: totals from `prompt_tokens` and `completion_tokens`, cached tokens from
 * `prompt_tokens_details`, `prompt_cache_hit_tokens` or `cached_tokens`. Reasoning is part of `completion_tokens`
 * unless `total_tokens` shows that it stands beside (xAI). Searches of the web from `server_tool_use` (Anthropic,
 * OpenRouter) or `num_search_queries` (Perplexity). `null` when there is no usage in it, or one that is not
 * counted in numbers: half a bill is none.
 */
export function usageOf(value: unknown): TokenUsage | null {
  if (!isObject(value)) return null
  const prompt = countOf(value['prompt_tokens'])
  const completion = countOf(value['completion_tokens'])
  const total = countOf(value['total_tokens'])
  if (prompt === undefined && completion === undefined && total === undefined) return null
  if (isUnreadable(value['prompt_tokens']) || isUnreadable(value['completion_tokens'])) return null
  const input = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0))
  const written = completion ?? Math.max(0, (total ?? 0) - input)
  const reasoning = countIn(value, 'completion_tokens_details', 'reasoning_tokens') ?? 0
  const beside = reasoning > 0 && total === input + written + reasoning
  const output = beside ? written + reasoning : written
  const cached =
    countIn(value, 'prompt_tokens_details', 'cached_tokens') ??
    countOf(value['prompt_cache_hit_tokens']) ??
    countOf(value['cached_tokens']) ??
    0
  const cacheWrite =
    countIn(value, 'prompt_tokens_details', 'cache_write_tokens') ??
    countIn(value, 'prompt_tokens_details', 'cache_creation_tokens') ??
    0
  const cachedInput = Math.min(cached, input)
  const kept = Math.min(cacheWrite, input - cachedInput)
  return {
    input,
    cachedInput,
    cacheWrite: kept,
    ...keptLong(Math.min(countIn(value, 'prompt_tokens_details', 'cache_write_1h_tokens') ?? 0, kept)),
    output,
    reasoning: Math.min(reasoning, output),
    ...searched(
      countIn(value, 'server_tool_use', 'web_search_requests') ?? countOf(value['num_search_queries']) ?? 0,
    ),
  }
}

/** Written to a cache for an hour: told only where there is any. */
export function keptLong(tokens: number): { cacheWrite1h?: number } {
  return tokens > 0 ? { cacheWrite1h: tokens } : {}
}

/** Searches of the web: told only where there were any. */
export function searched(searches: number): { searches?: number } {
  return searches > 0 ? { searches } : {}
}

/** No answer takes more searches than this. */
const searchesMost = 1000

/** Bounds a provider's bill by what the model can hold; `clamped` tells that it claimed more. */
export function boundedUsage(
  usage: TokenUsage,
  most: { input: number; output: number },
): { usage: TokenUsage; clamped: boolean } {
  const searches = Math.min(usage.searches ?? 0, searchesMost)
  const isWithin = usage.input <= most.input && usage.output <= most.output
  if (isWithin && searches === (usage.searches ?? 0)) return { usage, clamped: false }
  const input = Math.min(usage.input, most.input)
  const output = Math.min(usage.output, most.output)
  const cachedInput = Math.min(usage.cachedInput, input)
  const cacheWrite = Math.min(usage.cacheWrite, input - cachedInput)
  return {
    usage: {
      input,
      cachedInput,
      cacheWrite,
      ...keptLong(Math.min(usage.cacheWrite1h ?? 0, cacheWrite)),
      output,
      reasoning: Math.min(usage.reasoning, output),
      ...searched(searches),
    },
    clamped: true,
  }
}
