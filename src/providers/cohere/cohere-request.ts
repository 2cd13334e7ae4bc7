/** Encodes a chat request in Cohere's format (v2 chat), which is close to the OpenAI format with other field names. */
import { encodeSource, joinText, type ChatMessage, type Part } from '../chat-messages.ts'
import type { ParsedChatRequest, Tool } from '../chat-request.ts'
import { getNumber, omitUndefined, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'

function encodePart(part: Part): Json {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  if (part.kind !== 'image') {
    throw new UnsupportedFeatureError(`${part.path}.type`, 'must be text or an image for this provider')
  }
  return { type: 'image_url', image_url: { url: encodeSource(part.source) } }
}

/** Encodes text alone as a string. */
function encodeContent(parts: readonly Part[]): unknown {
  return parts.every((part) => part.kind === 'text') ? joinText(parts) : parts.map(encodePart)
}

function encodeMessage({ role, parts, toolCalls, toolCallId }: ChatMessage): Json {
  if (role === 'tool') return { role, tool_call_id: toolCallId, content: joinText(parts) }
  const calls = toolCalls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  // Cohere requires the content of every message but the assistant's.
  const isOptional = role === 'assistant' && parts.length === 0
  return omitUndefined({
    role,
    content: isOptional ? undefined : encodeContent(parts),
    tool_calls: calls.length > 0 ? calls : undefined,
  })
}

function encodeTool({ name, description, parameters }: Tool): Json {
  return { type: 'function', function: omitUndefined({ name, description, parameters }) }
}

/** Cohere can require or forbid tools but not select one: if one is required, only that one is sent. */
function encodeTools({ tools, toolChoice }: ParsedChatRequest): { tools?: Json[]; tool_choice?: string } {
  if (tools.length === 0) return {}
  if (toolChoice === null || toolChoice === 'auto') return { tools: tools.map(encodeTool) }
  if (toolChoice === 'none') return { tools: tools.map(encodeTool), tool_choice: 'NONE' }
  const wanted = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.name)
  if (wanted.length === 0) throw new UnsupportedFeatureError('tool_choice', 'must name a tool of the request')
  return { tools: wanted.map(encodeTool), tool_choice: 'REQUIRED' }
}

function encodeResponseFormat({ format, tools }: ParsedChatRequest): Json | undefined {
  if (format.kind === 'text') return undefined
  if (tools.length > 0) {
    const problem = 'not supported together with `tools` by this provider'
    throw new UnsupportedFeatureError('response_format', problem)
  }
  const schema = format.kind === 'schema' ? format.schema : undefined
  return omitUndefined({ type: 'json_object', json_schema: schema })
}

function encodeThinking({ reasoning }: ParsedChatRequest): Json | undefined {
  if (reasoning === null) return undefined
  const { effort, tokens } = reasoning
  if (effort === 'none' || tokens === 0) return { type: 'disabled' }
  return omitUndefined({ type: 'enabled', token_budget: tokens !== null && tokens > 0 ? tokens : undefined })
}

/** The value within Cohere's range; those of the OpenAI format are larger. */
function clamp(value: number | undefined, minimum: number, maximum: number): number | undefined {
  return value === undefined ? undefined : Math.min(Math.max(value, minimum), maximum)
}

function encodeStop({ stop }: ParsedChatRequest): readonly string[] | undefined {
  if (stop === undefined || stop.length <= 5) return stop
  throw new UnsupportedFeatureError('stop', 'must have at most 5 strings for this provider')
}

/** Builds the request's body. */
export function buildCohereBody(request: ParsedChatRequest, model: string, stream: boolean): Json {
  const { json, tools } = request
  return omitUndefined({
    model,
    messages: request.messages.map(encodeMessage),
    ...encodeTools(request),
    strict_tools: tools.length > 0 && tools.every(({ strict }) => strict) ? true : undefined,
    response_format: encodeResponseFormat(request),
    thinking: encodeThinking(request),
    max_tokens: request.maximumTokens ?? undefined,
    temperature: request.temperature,
    p: clamp(request.topP, 0.01, 0.99),
    k: clamp(request.topK, 0, 500),
    seed: getNumber(json, 'seed'),
    frequency_penalty: clamp(getNumber(json, 'frequency_penalty'), 0, 1),
    presence_penalty: clamp(getNumber(json, 'presence_penalty'), 0, 1),
    stop_sequences: encodeStop(request),
    stream,
  })
}
