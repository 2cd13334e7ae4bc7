/** A chat request in the words of Amazon Bedrock's Converse API, which are the same for all of its models. */
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ChatRequest, Tool } from '../chat-request.ts'
import { claudeThinking } from '../anthropic/claude-thinking.ts'
import { present, textIn, type Json, entryOf } from '../json-fields.ts'
import { Inexpressible } from '../provider.ts'
import { bedrockFormat, weave } from '../reasoning-details.ts'
import { isObject } from '../usage.ts'

/** What Claude may write by default, for the share of it that thinking gets. */
const fallbackMaximumTokens = 4096

const documentFormats: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

function bytesOf(source: Source, at: string): { mediaType: string; bytes: string } {
  if (source.kind === 'data') return { mediaType: source.mediaType, bytes: source.data }
  throw new Inexpressible(at, `${at} has to be a data URL: this provider fetches nothing.`)
}

function partBlock(part: Part): Json {
  switch (part.kind) {
    case 'text':
      return { text: part.text }
    case 'image': {
      const { mediaType, bytes } = bytesOf(part.source, `${part.at}.image_url.url`)
      const format = mediaType === 'image/jpg' ? 'jpeg' : mediaType.replace('image/', '')
      return { image: { format, source: { bytes } } }
    }
    case 'file': {
      const { mediaType, bytes } = bytesOf(part.source, `${part.at}.file.file_data`)
      // The service takes no other characters in the name of a document.
      const name = (part.name ?? 'document').replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ').trim() || 'document'
      return { document: { format: entryOf(documentFormats, mediaType) ?? 'txt', name, source: { bytes } } }
    }
    case 'audio':
      throw new Inexpressible(`${part.at}.type`, `${part.at}: this provider takes no sound.`)
  }
}

function cachePoint(cacheControl: unknown): Json[] {
  if (!isObject(cacheControl)) return []
  return [{ cachePoint: present({ type: 'default', ttl: textIn(cacheControl, 'ttl') }) }]
}

function blocksOf(parts: readonly Part[]): Json[] {
  return parts
    .filter((part) => part.kind !== 'text' || part.text !== '')
    .flatMap((part) => [partBlock(part), ...cachePoint(part.cacheControl)])
}

function thinkingBlock({ type, text, signature, data }: Json): Json | undefined {
  if (type === 'reasoning.encrypted') return { reasoningContent: { redactedContent: data } }
  if (type !== 'reasoning.text') return undefined
  return { reasoningContent: { reasoningText: present({ text: text ?? '', signature }) } }
}

function contentOf(message: ChatMessage): Json[] {
  const blocks = blocksOf(message.parts)
  if (message.role === 'tool') {
    const content = blocks.length > 0 ? blocks : [{ text: '(nothing)' }]
    return [{ toolResult: { toolUseId: message.toolCallId, content } }]
  }
  if (message.role !== 'assistant') return blocks
  const calls = message.toolCalls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } }))
  return weave([...blocks, ...calls], message.reasoningDetails, bedrockFormat, thinkingBlock)
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

function toolBlocks({ name, description, parameters, strict, cacheControl }: Tool): Json[] {
  const about = { name, description: description || undefined, strict: strict || undefined }
  return [{ toolSpec: present({ ...about, inputSchema: { json: parameters } }) }, ...cachePoint(cacheControl)]
}

/** Converse cannot forbid tools: without them, no earlier call may be in the conversation. */
function toolConfigOf({ tools, toolChoice, messages }: ChatRequest): Json | undefined {
  if (tools.length === 0) return undefined
  if (toolChoice === 'none') {
    if (messages.every(({ toolCalls }) => toolCalls.length === 0)) return undefined
    const message = 'tool_choice cannot be "none" for this provider once a tool has been called.'
    throw new Inexpressible('tool_choice', message)
  }
  const config = { tools: tools.flatMap(toolBlocks) }
  if (toolChoice === null) return config
  if (toolChoice === 'auto') return { ...config, toolChoice: { auto: {} } }
  if (toolChoice === 'required') return { ...config, toolChoice: { any: {} } }
  return { ...config, toolChoice: { tool: { name: toolChoice.name } } }
}

/** What is the model's own business: how it thinks, and what only some can be told. */
function modelFields(request: ChatRequest, model: string, maximumTokens: number): Json | undefined {
  const { reasoning, topK } = request
  let fields: Json = {}
  if (/claude/.test(model)) {
    const { thinking, effort } = claudeThinking(request, { model, maximumTokens, format: bedrockFormat })
    fields = present({ thinking, output_config: effort ? { effort } : undefined, top_k: topK })
  } else if (reasoning?.effort && /gpt-oss/.test(model)) fields = { reasoning_effort: reasoning.effort }
  else if (reasoning?.effort === 'none' && /nova/.test(model))
    fields = { reasoningConfig: { type: 'disabled' } }
  else if (reasoning?.effort && /nova/.test(model)) {
    fields = { reasoningConfig: { type: 'enabled', maxReasoningEffort: reasoning.effort } }
  }
  return Object.keys(fields).length > 0 ? fields : undefined
}

function outputConfigOf({ format }: ChatRequest): Json | undefined {
  if (format.kind !== 'schema') return undefined
  const { name, description } = format
  const jsonSchema = present({ schema: JSON.stringify(format.schema), name, description })
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

/** The request's body; the model's name is in the address. */
export function bedrockBody(
  request: ChatRequest,
  about: { readonly model: string; readonly modelMaximumTokens: number | null },
): Json {
  const system = request.messages
    .filter(({ role }) => role === 'system')
    .flatMap(({ parts }) => blocksOf(parts))
  if (request.format.kind === 'object')
    system.push({ text: 'Answer with one valid JSON object and nothing else.' })
  const maximumTokens = request.maximumTokens ?? about.modelMaximumTokens ?? fallbackMaximumTokens
  const inference = present({
    maxTokens: request.maximumTokens ?? about.modelMaximumTokens ?? undefined,
    temperature: request.temperature === undefined ? undefined : Math.min(request.temperature, 1),
    topP: request.topP,
    stopSequences: request.stop,
  })
  return present({
    system: system.length > 0 ? system : undefined,
    messages: conversationOf(request.messages),
    toolConfig: toolConfigOf(request),
    inferenceConfig: Object.keys(inference).length > 0 ? inference : undefined,
    outputConfig: outputConfigOf(request),
    additionalModelRequestFields: modelFields(request, about.model, maximumTokens),
  })
}
