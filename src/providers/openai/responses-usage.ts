/** The usage of a response of the Responses API: cached tokens are part of the input, reasoning of the output. */
import { getCount, getObject, getObjects, getString, hasAnyCount, type Json } from '../json-fields.ts'
import { countNames, createUsage, parseServiceTier, type TokenUsage } from '../usage.ts'

/** Is the item a web search? Calls that only open or read a page of an earlier search are none. */
export function isSearch(item: Json): boolean {
  const action = getString(getObject(item, 'action') ?? {}, 'type') ?? 'search'
  return item['type'] === 'web_search_call' && action === 'search'
}

/** Calls that the caller runs. */
const callerCalls = /^(?:function|custom_tool|local_shell|computer|apply_patch|tool_search)_call$/

/** The tool of an item that is a call by the provider; `null`: it is none. */
export function calledTool(item: Json): string | null {
  const type = getString(item, 'type') ?? ''
  if (type === 'web_search_call') return isSearch(item) ? 'web_search' : null
  return type.endsWith('_call') && !callerCalls.test(type) ? type.slice(0, -'_call'.length) : null
}

function countToolCalls(items: readonly Json[]): Record<string, number> {
  return countNames(items.map(calledTool).filter((name) => name !== null))
}

/** `null`: the response has no valid counts. */
export function parseResponsesUsage(response: Json): TokenUsage | null {
  const usage = getObject(response, 'usage') ?? {}
  if (!hasAnyCount(usage, 'input_tokens', 'output_tokens')) return null
  const input = getObject(usage, 'input_tokens_details') ?? {}
  return createUsage({
    input: getCount(usage, 'input_tokens'),
    cachedInput: getCount(input, 'cached_tokens'),
    cacheWrite: getCount(input, 'cache_write_tokens'),
    output: getCount(usage, 'output_tokens'),
    reasoning: getCount(getObject(usage, 'output_tokens_details') ?? {}, 'reasoning_tokens'),
    searches: getObjects(response, 'output').filter(isSearch).length,
    tier: parseServiceTier(response['service_tier']),
    toolCalls: countToolCalls(getObjects(response, 'output')),
  })
}
