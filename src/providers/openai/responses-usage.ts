/** The usage of a response of the Responses API: cached tokens are part of the input, reasoning of the output. */
import { getCount, getObject, getObjects, getString, hasAnyCount, type Json } from '../json-fields.ts'
import { classedName, imageTool, readImageClass } from '../image-classes.ts'
import { countNames, createUsage, parseServiceTier, type ImageToolTokens, type TokenUsage } from '../usage.ts'
import { parseCacheCounts } from '../usage-counts.ts'

/** Is the item a web search? Calls that only open or read a page of an earlier search are none. */
export function isSearch(item: Json): boolean {
  const action = getString(getObject(item, 'action') ?? {}, 'type') ?? 'search'
  return item['type'] === 'web_search_call' && action === 'search'
}

/** The type of the items of the image tool. */
export const imageCall = `${imageTool}_call`

/** Calls that the caller runs. */
const callerCalls = /^(?:function|custom_tool|local_shell|computer|apply_patch|tool_search)_call$/

/**
 * The tool of an item that is a call by the provider, of an image with its class as far as it is stated; `null`: it is none,
 * or an image that was not made.
 */
export function calledTool(item: Json): string | null {
  const type = getString(item, 'type') ?? ''
  if (type === 'web_search_call') return isSearch(item) ? 'web_search' : null
  if (type === imageCall)
    return item['status'] === 'failed' ? null : classedName(imageTool, readImageClass(item))
  return type.endsWith('_call') && !callerCalls.test(type) ? type.slice(0, -'_call'.length) : null
}

function countToolCalls(items: readonly Json[]): Record<string, number> {
  return countNames(items.map(calledTool).filter((name) => name !== null))
}

/** The tokens of the image tool, all of which are priced as images; `undefined`: not stated. */
function parseImageTool(response: Json): ImageToolTokens | undefined {
  const tokens = getObject(getObject(response, 'tool_usage') ?? {}, 'image_gen')
  if (!tokens || !hasAnyCount(tokens, 'input_tokens', 'output_tokens')) return undefined
  return { input: getCount(tokens, 'input_tokens'), output: getCount(tokens, 'output_tokens') }
}

/** `null`: the response has no valid counts. */
export function parseResponsesUsage(response: Json): TokenUsage | null {
  const usage = getObject(response, 'usage') ?? {}
  if (!hasAnyCount(usage, 'input_tokens', 'output_tokens')) return null
  return createUsage({
    input: getCount(usage, 'input_tokens'),
    ...parseCacheCounts(usage),
    output: getCount(usage, 'output_tokens'),
    reasoning: getCount(getObject(usage, 'output_tokens_details') ?? {}, 'reasoning_tokens'),
    searches: getObjects(response, 'output').filter(isSearch).length,
    tier: parseServiceTier(response['service_tier']),
    toolCalls: countToolCalls(getObjects(response, 'output')),
    imageTool: parseImageTool(response),
  })
}
