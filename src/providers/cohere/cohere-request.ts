/** Encodes a chat request in Cohere's format (v2 chat), which is close to the OpenAI format with other field names. */
import { joinText, type ChatMessage, type Part } from '../chat-messages.ts'
import type { ParsedChatRequest, Tool } from '../chat-request.ts'
import { getNumber, omitUndefined, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'

function encodePart(part: Part): Json {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  if (part.kind !== 'image') {
    throw new UnsupportedFeatureError(
      `${part.path}.type`,
      `Invalid \`${part.path}\`: must be text or an image for this provider.`,
    )
  }
  const { source } = part
  const url = source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
  return { type: 'image_url', image_url: { url } }
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
  return omitUndefined({
    role,
    content: parts.length > 0 ? encodeContent(parts) : undefined,
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
  if (wanted.length === 0)
    throw new UnsupportedFeatureError(
      'tool_choice',
      'Invalid `tool_choice`: must name a tool of the request.',
    )
  return { tools: wanted.map(encodeTool), tool_choice: 'REQUIRED' }
}

function encodeResponseFormat({ format }: ParsedChatRequest): Json | undefined {
  if (format.kind === 'text') return undefined
  const schema = format.kind === 'schema' ? format.schema : undefined
  return omitUndefined({ type: 'json_object', json_schema: schema })
}

function encodeThinking({ reasoning }: ParsedChatRequest): Json | undefined {
  if (reasoning === null) return undefined
  if (reasoning.effort === 'none') return { type: 'disabled' }
  return omitUndefined({ type: 'enabled', token_budget: reasoning.tokens ?? undefined })
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
    p: request.topP,
    k: request.topK,
    seed: getNumber(json, 'seed'),
    frequency_penalty: getNumber(json, 'frequency_penalty'),
    presence_penalty: getNumber(json, 'presence_penalty'),
    stop_sequences: request.stop,
    stream,
  })
}
