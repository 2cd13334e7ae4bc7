/** Anthropic's bill: what was read from and written to the cache stands beside `input_tokens` there. */
import { countIn, hasCount, objectIn, objectsIn, type Json } from './json-fields.ts'
import { keptLong, searched, type TokenUsage } from './usage.ts'

function countsOf(usage: Json): TokenUsage {
  const cachedInput = countIn(usage, 'cache_read_input_tokens')
  const cacheWrite = countIn(usage, 'cache_creation_input_tokens')
  const long = countIn(objectIn(usage, 'cache_creation') ?? {}, 'ephemeral_1h_input_tokens')
  const input = countIn(usage, 'input_tokens') + cachedInput + cacheWrite
  const output = countIn(usage, 'output_tokens')
  return { input, cachedInput, cacheWrite, ...keptLong(Math.min(long, cacheWrite)), output, reasoning: 0 }
}

/**
 * Reads `usage` of a message. Where the answer took several runs of a model (`iterations`: compaction, advice), the
 * totals beside them leave some out, so the runs are added up; unless another model stood in for one that refused
 * (`fallback_message`), when the totals are the bill already.
 */
export function anthropicUsage(usage: Json | undefined): TokenUsage | null {
  if (!usage || !hasCount(usage, 'input_tokens', 'output_tokens')) return null
  const runs = objectsIn(usage, 'iterations')
  const isFallback = runs.some((run) => run['type'] === 'fallback_message')
  const counts = runs.length === 0 || isFallback ? [countsOf(usage)] : runs.map(countsOf)
  const details = objectIn(usage, 'output_tokens_details') ?? {}
  const sum = (of: (each: TokenUsage) => number): number => counts.reduce((all, each) => all + of(each), 0)
  const output = sum((each) => each.output)
  return {
    input: sum((each) => each.input),
    cachedInput: sum((each) => each.cachedInput),
    cacheWrite: sum((each) => each.cacheWrite),
    ...keptLong(sum((each) => each.cacheWrite1h ?? 0)),
    output,
    reasoning: Math.min(countIn(details, 'thinking_tokens'), output),
    ...searched(countIn(objectIn(usage, 'server_tool_use') ?? {}, 'web_search_requests')),
  }
}
