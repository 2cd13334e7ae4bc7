/**
 * A chat request in Anthropic's words (Messages API, version 2023-06-01): system and developer messages become
 * `system`, neighbours of one side become one message, and thinking that Anthropic signed goes back where it stood.
 */
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ChatRequest, Tool } from '../chat-request.ts'
import { claudeThinking } from './claude-thinking.ts'
import { objectIn, present, textIn, type Json } from '../json-fields.ts'
import { Inexpressible } from '../provider.ts'
import { anthropicFormat, weave } from '../reasoning-details.ts'

/** JSON mode is a word to the model: Anthropic knows only schemas. */
const objectInstruction = 'Answer with one valid JSON object and nothing else.'

/** When neither the caller, nor money, nor the catalogue bounds the answer; every model writes as much. */
const fallbackMaximumTokens = 4096

function sourceBlock(source: Source): Json {
  return source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.data }
}

function fileBlock(part: Extract<Part, { kind: 'file' }>): Json {
  const { source, name } = part
  const isText = source.kind === 'data' && source.mediaType === 'text/plain'
  const data = isText ? Buffer.from(source.data, 'base64').toString('utf8') : ''
  return {
    type: 'document',
    source: isText ? { type: 'text', media_type: 'text/plain', data } : sourceBlock(source),
    title: name ?? undefined,
  }
}

function partBlock(part: Part): Json {
  const cached = { cache_control: part.cacheControl ?? undefined }
  switch (part.kind) {
    case 'text':
      return present({ type: 'text', text: part.text, ...cached })
    case 'image':
      return present({ type: 'image', source: sourceBlock(part.source), ...cached })
    case 'file':
      return present({ ...fileBlock(part), ...cached })
    case 'audio':
      throw new Inexpressible(`${part.at}.type`, `${part.at}: this provider takes no sound.`)
  }
}

/** Anthropic refuses empty texts. */
function blocksOf(parts: readonly Part[]): Json[] {
  return parts.filter((part) => part.kind !== 'text' || part.text !== '').map(partBlock)
}

function thinkingBlock(detail: Json): Json | undefined {
  const { type, text, signature, data } = detail
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data }
  if (type !== 'reasoning.text' || typeof signature !== 'string') return undefined
  return { type: 'thinking', thinking: typeof text === 'string' ? text : '', signature }
}

function contentOf(message: ChatMessage): Json[] {
  const blocks = blocksOf(message.parts)
  switch (message.role) {
    case 'tool':
      return [present({ type: 'tool_result', tool_use_id: message.toolCallId, content: blocks })]
    case 'assistant': {
      const calls = message.toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }))
      return weave([...blocks, ...calls], message.reasoningDetails, anthropicFormat, thinkingBlock)
    }
    case 'user':
    case 'system':
      return blocks
  }
}

function conversationOf(messages: readonly ChatMessage[]): Json[] {
  const turns: { role: string; content: Json[] }[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = contentOf(message)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  return turns
}

function systemOf({ messages, format }: ChatRequest): Json[] | undefined {
  const blocks = messages.filter(({ role }) => role === 'system').flatMap(({ parts }) => blocksOf(parts))
  if (format.kind === 'object') blocks.push({ type: 'text', text: objectInstruction })
  return blocks.length > 0 ? blocks : undefined
}

function toolOf({ name, description, parameters, strict, cacheControl }: Tool): Json {
  const cached = { cache_control: cacheControl ?? undefined }
  return present({ name, description, input_schema: parameters, strict: strict || undefined, ...cached })
}

function toolChoiceOf({ tools, toolChoice, isParallel }: ChatRequest): Json | undefined {
  if (tools.length === 0) return undefined
  if (toolChoice === 'none') return { type: 'none' }
  if (toolChoice === null && isParallel) return undefined
  const single = isParallel ? {} : { disable_parallel_tool_use: true }
  if (toolChoice === null || toolChoice === 'auto') return { type: 'auto', ...single }
  if (toolChoice === 'required') return { type: 'any', ...single }
  return { type: 'tool', name: toolChoice.name, ...single }
}

/** The request's body. `modelMaximumTokens`: what the model can write, for callers who set no bound. */
export function anthropicBody(
  request: ChatRequest,
  about: { readonly model: string; readonly modelMaximumTokens: number | null; readonly stream: boolean },
): Json {
  const { json, format, tools, temperature } = request
  const maximumTokens = request.maximumTokens ?? about.modelMaximumTokens ?? fallbackMaximumTokens
  const { model } = about
  const { thinking, effort } = claudeThinking(request, { model, maximumTokens, format: anthropicFormat })
  const schema = format.kind === 'schema' ? { type: 'json_schema', schema: format.schema } : undefined
  const user = textIn(json, 'user')
  return present({
    model,
    max_tokens: maximumTokens,
    system: systemOf(request),
    messages: conversationOf(request.messages),
    tools: tools.length > 0 ? tools.map(toolOf) : undefined,
    tool_choice: toolChoiceOf(request),
    thinking,
    output_config: effort || schema ? present({ effort, format: schema }) : undefined,
    // The common format goes to 2, Anthropic's to 1.
    temperature: temperature === undefined ? undefined : Math.min(temperature, 1),
    top_p: request.topP,
    top_k: request.topK,
    stop_sequences: request.stop,
    cache_control: objectIn(json, 'cache_control'),
    metadata: user === undefined ? undefined : { user_id: user },
    stream: about.stream || undefined,
  })
}
