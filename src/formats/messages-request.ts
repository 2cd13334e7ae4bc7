/**
 * A request of Anthropic's format (Messages API, version 2023-06-01) in the common one, to the taste of a provider.
 * What only hints at how to sample and has no word there is left out; what changes what is answered is refused by its
 * name, so that another upstream may take it.
 */
import { createHash } from 'node:crypto'
import { numberIn, objectIn, objectsIn, present, textIn, type Json } from '../providers/json-fields.ts'
import { messagesOf } from './messages-conversation.ts'
import { blocksIn, contentOf, partsOf, wrong } from './messages-blocks.ts'
import type { Taste } from './provider-tastes.ts'

/** OpenAI takes no longer names of a user. */
const longestUser = 64
const paragraph = '\n\n'

function systemOf(request: Json, taste: Taste): Json[] {
  const parts = blocksIn(request['system'], 'system').flatMap((placed) => partsOf(placed, taste))
  return parts.length > 0 ? [{ role: 'system', content: contentOf(parts, paragraph) }] : []
}

function toolOf(tool: Json, index: number, taste: Taste): Json {
  const at = `tools[${index}]`
  const type = tool['type']
  if (type !== undefined && type !== null && type !== 'custom') {
    throw wrong(`${at}.type`, 'can only be "custom" for this provider')
  }
  const about = present({
    name: textIn(tool, 'name'),
    description: textIn(tool, 'description'),
    parameters: objectIn(tool, 'input_schema'),
    strict: tool['strict'] === true ? true : undefined,
  })
  const cache = taste.cache ? objectIn(tool, 'cache_control') : undefined
  return present({ type: 'function', function: about, cache_control: cache })
}

function toolChoiceOf(choice: Json | undefined): unknown {
  switch (choice?.['type']) {
    case undefined:
      return undefined
    case 'any':
      return 'required'
    case 'tool':
      return { type: 'function', function: { name: textIn(choice ?? {}, 'name') ?? '' } }
    case 'auto':
    case 'none':
      return choice?.['type']
    default:
      throw wrong('tool_choice.type', 'is none that this provider can be sent')
  }
}

function toolsOf(request: Json, taste: Taste): Json {
  const tools = objectsIn(request, 'tools').map((tool, index) => toolOf(tool, index, taste))
  if (tools.length === 0) return {}
  const choice = objectIn(request, 'tool_choice')
  return {
    tools,
    tool_choice: toolChoiceOf(choice),
    parallel_tool_calls: choice?.['disable_parallel_tool_use'] === true ? false : undefined,
  }
}

function effortOf(given: string | undefined, budget: number | undefined): string | undefined {
  if (given !== undefined) return given === 'xhigh' || given === 'max' ? 'high' : given
  if (budget === undefined) return undefined
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}

/** How much to think, in the words that a provider takes. */
function thinkingOf(request: Json, taste: Taste): Json {
  const thinking = objectIn(request, 'thinking')
  if (!thinking) return {}
  const isOn = thinking['type'] !== 'disabled'
  const budget = isOn ? numberIn(thinking, 'budget_tokens') : undefined
  const given = isOn ? textIn(objectIn(request, 'output_config') ?? {}, 'effort') : undefined
  switch (taste.thinking) {
    case 'all': {
      const reasoning = thinking['display'] === 'omitted' ? { exclude: true } : undefined
      return { thinking, reasoning, reasoning_effort: given }
    }
    case 'effort':
      return { reasoning_effort: isOn ? effortOf(given, budget) : undefined }
    case 'reasoning':
      if (budget !== undefined) return { reasoning: { max_tokens: budget } }
      return { reasoning: given === undefined ? { enabled: isOn } : { effort: effortOf(given, undefined) } }
    case 'switch':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } }
    case 'enable':
      return { enable_thinking: isOn, thinking_budget: budget }
    case 'none':
      return {}
  }
}

function formatOf(request: Json): Json | undefined {
  const config = objectIn(request, 'output_config')
  const format = (config && objectIn(config, 'format')) ?? objectIn(request, 'output_format')
  if (!format) return undefined
  const schema = objectIn(format, 'schema')
  if (format['type'] !== 'json_schema' || !schema) {
    throw wrong('output_config.format', 'has to be "json_schema" with a schema')
  }
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
}

function userOf(request: Json): string | undefined {
  const user = textIn(objectIn(request, 'metadata') ?? {}, 'user_id')
  if (user === undefined || user.length <= longestUser) return user
  return createHash('sha256').update(user).digest('hex')
}

function refuseForeign(request: Json): void {
  if (objectsIn(request, 'mcp_servers').length > 0)
    throw wrong('mcp_servers', 'is not known to this provider')
  if (request['container'] !== undefined && request['container'] !== null) {
    throw wrong('container', 'is not known to this provider')
  }
}

/** The request in the common format; the model's name is the caller's. Throws `Inexpressible` naming the field. */
export function chatOfMessages(request: Json, taste: Taste): Json {
  refuseForeign(request)
  return present({
    model: request['model'],
    messages: [...systemOf(request, taste), ...messagesOf(request, taste)],
    max_tokens: numberIn(request, 'max_tokens'),
    ...toolsOf(request, taste),
    ...thinkingOf(request, taste),
    response_format: formatOf(request),
    stop: Array.isArray(request['stop_sequences']) ? request['stop_sequences'] : undefined,
    temperature: numberIn(request, 'temperature'),
    top_p: numberIn(request, 'top_p'),
    top_k: taste.topK ? numberIn(request, 'top_k') : undefined,
    user: taste.user ? userOf(request) : undefined,
    stream: request['stream'] === true ? true : undefined,
  })
}
