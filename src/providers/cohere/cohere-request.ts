/** A chat request in Cohere's words (v2 chat): near to the common format, with other names for what is asked. */
import { textOfParts, type ChatMessage, type Part } from '../chat-messages.ts'
import type { ChatRequest, Tool } from '../chat-request.ts'
import { numberIn, present, type Json } from '../json-fields.ts'
import { Inexpressible } from '../provider.ts'

function partJson(part: Part): Json {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  if (part.kind !== 'image') {
    throw new Inexpressible(`${part.at}.type`, `${part.at} can only be text or an image for this provider.`)
  }
  const { source } = part
  const url = source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
  return { type: 'image_url', image_url: { url } }
}

/** Words alone go as words. */
function contentOf(parts: readonly Part[]): unknown {
  return parts.every((part) => part.kind === 'text') ? textOfParts(parts) : parts.map(partJson)
}

function messageJson({ role, parts, toolCalls, toolCallId }: ChatMessage): Json {
  if (role === 'tool') return { role, tool_call_id: toolCallId, content: textOfParts(parts) }
  const calls = toolCalls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return present({
    role,
    content: parts.length > 0 ? contentOf(parts) : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  })
}

function toolJson({ name, description, parameters }: Tool): Json {
  return { type: 'function', function: present({ name, description, parameters }) }
}

/** Cohere can be told to use a tool or none, not which one: of one alone the others are left out. */
function toolsOf({ tools, toolChoice }: ChatRequest): { tools?: Json[]; tool_choice?: string } {
  if (tools.length === 0) return {}
  if (toolChoice === null || toolChoice === 'auto') return { tools: tools.map(toolJson) }
  if (toolChoice === 'none') return { tools: tools.map(toolJson), tool_choice: 'NONE' }
  const wanted = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.name)
  if (wanted.length === 0) throw new Inexpressible('tool_choice', 'tool_choice names no tool of the request.')
  return { tools: wanted.map(toolJson), tool_choice: 'REQUIRED' }
}

function formatOf({ format }: ChatRequest): Json | undefined {
  if (format.kind === 'text') return undefined
  const schema = format.kind === 'schema' ? format.schema : undefined
  return present({ type: 'json_object', json_schema: schema })
}

function thinkingOf({ reasoning }: ChatRequest): Json | undefined {
  if (reasoning === null) return undefined
  if (reasoning.effort === 'none') return { type: 'disabled' }
  return present({ type: 'enabled', token_budget: reasoning.tokens ?? undefined })
}

/** The request's body. */
export function cohereBody(request: ChatRequest, model: string, stream: boolean): Json {
  const { json, tools } = request
  return present({
    model,
    messages: request.messages.map(messageJson),
    ...toolsOf(request),
    strict_tools: tools.length > 0 && tools.every(({ strict }) => strict) ? true : undefined,
    response_format: formatOf(request),
    thinking: thinkingOf(request),
    max_tokens: request.maximumTokens ?? undefined,
    temperature: request.temperature,
    p: request.topP,
    k: request.topK,
    seed: numberIn(json, 'seed'),
    frequency_penalty: numberIn(json, 'frequency_penalty'),
    presence_penalty: numberIn(json, 'presence_penalty'),
    stop_sequences: request.stop,
    stream,
  })
}
