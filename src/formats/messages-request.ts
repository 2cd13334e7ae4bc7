/**
 * Translates a request in Anthropic's format (Messages API, version 2023-06-01) into the OpenAI format, as far as a
 * provider supports it. Sampling hints without a counterpart are dropped. Features that change the response are
 * rejected by name, so that another upstream may serve the request.
 */
import {
  getNumber,
  getObject,
  getObjects,
  omitUndefined,
  getString,
  type Json,
} from '../providers/json-fields.ts'
import { translateMessages } from './messages-conversation.ts'
import { encodeContent } from './content-pieces.ts'
import { parseBlocks, translateBlock } from './messages-blocks.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import { boundedUser } from '../providers/user-ids.ts'
import type { ProviderCapabilities } from './provider-capabilities.ts'
import { isStrictSchema } from './strict-schema.ts'
import { shortToolName } from './tool-names.ts'

const paragraph = '\n\n'

function translateSystem(request: Json, capabilities: ProviderCapabilities): Json[] {
  const parts = parseBlocks(request['system'], 'system').flatMap((block) =>
    translateBlock(block, capabilities),
  )
  return parts.length > 0 ? [{ role: 'system', content: encodeContent(parts, paragraph) }] : []
}

function translateTool(tool: Json, index: number, capabilities: ProviderCapabilities): Json {
  const path = `tools[${index}]`
  const type = tool['type']
  if (type !== undefined && type !== null && type !== 'custom') {
    throw new UnsupportedFeatureError(
      `${path}.type`,
      `${getString(tool, 'type') ?? 'the tool'} is run by Anthropic; the provider of this model has no such tool`,
    )
  }
  const parameters = getObject(tool, 'input_schema')
  const about = omitUndefined({
    name: shortToolName(getString(tool, 'name') ?? ''),
    description: getString(tool, 'description'),
    parameters,
    strict: tool['strict'] === true && isStrictSchema(parameters ?? {}) ? true : undefined,
  })
  const cache = capabilities.promptCache ? getObject(tool, 'cache_control') : undefined
  return omitUndefined({ type: 'function', function: about, cache_control: cache })
}

function translateToolChoice(choice: Json | undefined): unknown {
  switch (choice?.['type']) {
    case undefined:
      return undefined
    case 'any':
      return 'required'
    case 'tool':
      return { type: 'function', function: { name: shortToolName(getString(choice ?? {}, 'name') ?? '') } }
    case 'auto':
    case 'none':
      return choice?.['type']
    default:
      throw new UnsupportedFeatureError('tool_choice.type', 'not supported by this provider')
  }
}

function translateTools(request: Json, capabilities: ProviderCapabilities): Json {
  const tools = getObjects(request, 'tools').map((tool, index) => translateTool(tool, index, capabilities))
  if (tools.length === 0) return {}
  const choice = getObject(request, 'tool_choice')
  return {
    tools,
    tool_choice: translateToolChoice(choice),
    parallel_tool_calls: choice?.['disable_parallel_tool_use'] === true ? false : undefined,
  }
}

function translateEffort(given: string | undefined, budget: number | undefined): string | undefined {
  if (given !== undefined) return given === 'xhigh' || given === 'max' ? 'high' : given
  if (budget === undefined) return undefined
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}

/** How much to think, in the fields that the provider supports. */
function translateThinking(request: Json, capabilities: ProviderCapabilities): Json {
  const thinking = getObject(request, 'thinking')
  if (!thinking) return {}
  const isOn = thinking['type'] !== 'disabled'
  const budget = isOn ? getNumber(thinking, 'budget_tokens') : undefined
  const given = isOn ? getString(getObject(request, 'output_config') ?? {}, 'effort') : undefined
  switch (capabilities.thinking) {
    case 'all': {
      const reasoning = thinking['display'] === 'omitted' ? { exclude: true } : undefined
      return { thinking, reasoning, reasoning_effort: given }
    }
    case 'effort':
      return { reasoning_effort: isOn ? translateEffort(given, budget) : undefined }
    case 'reasoning':
      if (budget !== undefined) return { reasoning: { max_tokens: budget } }
      return {
        reasoning: given === undefined ? { enabled: isOn } : { effort: translateEffort(given, undefined) },
      }
    case 'switch':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } }
    case 'enable':
      return { enable_thinking: isOn, thinking_budget: budget }
    case 'none':
      return {}
  }
}

function translateOutputFormat(request: Json): Json | undefined {
  const config = getObject(request, 'output_config')
  const format = (config && getObject(config, 'format')) ?? getObject(request, 'output_format')
  if (!format) return undefined
  const schema = getObject(format, 'schema')
  if (format['type'] !== 'json_schema' || !schema) {
    throw new UnsupportedFeatureError('output_config.format', 'must be "json_schema" with a schema')
  }
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: isStrictSchema(schema) } }
}

/** OpenAI rejects an empty list. */
function translateStops({ stop_sequences: stops }: Json): unknown {
  return Array.isArray(stops) && stops.length > 0 ? stops : undefined
}

function translateUser(request: Json): string | undefined {
  const user = getString(getObject(request, 'metadata') ?? {}, 'user_id')
  return user === undefined ? undefined : boundedUser(user)
}

function rejectUnsupported(request: Json): void {
  if (getObjects(request, 'mcp_servers').length > 0)
    throw new UnsupportedFeatureError('mcp_servers', 'not supported by this provider')
}

/** Translates the request; the model's name is the caller's. Throws `UnsupportedFeatureError` naming the field. */
export function translateMessagesRequest(request: Json, capabilities: ProviderCapabilities): Json {
  rejectUnsupported(request)
  return omitUndefined({
    model: request['model'],
    messages: [...translateSystem(request, capabilities), ...translateMessages(request, capabilities)],
    max_tokens: getNumber(request, 'max_tokens'),
    ...translateTools(request, capabilities),
    ...translateThinking(request, capabilities),
    response_format: translateOutputFormat(request),
    stop: translateStops(request),
    temperature: getNumber(request, 'temperature'),
    top_p: getNumber(request, 'top_p'),
    top_k: capabilities.topK ? getNumber(request, 'top_k') : undefined,
    user: capabilities.user ? translateUser(request) : undefined,
    stream: request['stream'] === true ? true : undefined,
  })
}
