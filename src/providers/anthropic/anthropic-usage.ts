/** Anthropic's usage: tokens read from and written to the cache are not part of `input_tokens`. */
import { getCount, hasAnyCount, getObject, getObjects, type Json } from '../json-fields.ts'
import { createUsage, parseServiceTier, type TokenUsage } from '../usage.ts'
import { parseLifetimes } from '../usage-counts.ts'

function parseCounts(usage: Json): TokenUsage {
  const cachedInput = getCount(usage, 'cache_read_input_tokens')
  const lifetimes = parseLifetimes(usage)
  const cacheWrite = Math.max(getCount(usage, 'cache_creation_input_tokens'), lifetimes.all)
  return createUsage({
    input: getCount(usage, 'input_tokens') + cachedInput + cacheWrite,
    cachedInput,
    cacheWrite,
    cacheWrite1h: lifetimes.long,
    output: getCount(usage, 'output_tokens'),
  })
}

/**
 * Parses the `usage` of a message. If the response took several runs of a model (`iterations`: compaction, advice), the
 * totals omit some of them, so the runs are summed; except if another model replaced one that refused
 * (`fallback_message`), when the totals are complete.
 */
export function parseAnthropicUsage(usage: Json | undefined): TokenUsage | null {
  if (!usage || !hasAnyCount(usage, 'input_tokens', 'output_tokens')) return null
  const runs = getObjects(usage, 'iterations')
  const isFallback = runs.some((run) => run['type'] === 'fallback_message')
  const counts = runs.length === 0 || isFallback ? [parseCounts(usage)] : runs.map(parseCounts)
  const details = getObject(usage, 'output_tokens_details') ?? {}
  const sum = (of: (each: TokenUsage) => number): number => counts.reduce((all, each) => all + of(each), 0)
  return createUsage({
    input: sum((each) => each.input),
    cachedInput: sum((each) => each.cachedInput),
    cacheWrite: sum((each) => each.cacheWrite),
    cacheWrite1h: sum((each) => each.cacheWrite1h ?? 0),
    output: sum((each) => each.output),
    reasoning: getCount(details, 'thinking_tokens'),
    searches: getCount(getObject(usage, 'server_tool_use') ?? {}, 'web_search_requests'),
    tier: parseServiceTier(usage['service_tier']),
  })
}
