/** Encodes a chat request for Amazon Bedrock's Converse API, whose format is the same for all models. */
import { alternateTurns, isBlankText, nonBlankStops } from '../alternating-turns.ts'
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ParsedChatRequest, Tool } from '../chat-request.ts'
import { claudeSampling, type Sampling } from '../anthropic/claude-sampling.ts'
import { isClaude, takesPrefill } from '../anthropic/claude-models.ts'
import { claudeThinking } from '../anthropic/claude-thinking.ts'
import { closeSchema, responseSchemaParam } from '../anthropic/closed-schema.ts'
import { getString, isObject, lookup, omitUndefined, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'
import { bedrockFormat, interleaveDetails } from '../reasoning-details.ts'
import { boundedCallId, encodeCallId } from '../tool-call-ids.ts'

/** Claude's default maximum, from which the thinking budget is derived. */
const defaultMaximumTokens = 4096

/** `ToolUseId`. */
const maxCallIdLength = 64

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

function requireData(source: Source, at: string): { mediaType: string; bytes: string } {
  if (source.kind === 'data') return { mediaType: source.mediaType, bytes: source.data }
  throw new UnsupportedFeatureError(at, 'must be a data URL for this provider')
}

function encodePart(part: Part): Json {
  switch (part.kind) {
    case 'text':
      return { text: part.text }
    case 'image': {
      const { mediaType, bytes } = requireData(part.source, `${part.path}.image_url.url`)
      const format = mediaType === 'image/jpg' ? 'jpeg' : mediaType.replace('image/', '')
      return { image: { format, source: { bytes } } }
    }
    case 'file': {
      const { mediaType, bytes } = requireData(part.source, `${part.path}.file.file_data`)
      // The service accepts no other characters in the name of a document.
      const name = (part.name ?? 'document').replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ').trim() || 'document'
      return { document: { format: lookup(documentFormats, mediaType) ?? 'txt', name, source: { bytes } } }
    }
    case 'audio':
      throw new UnsupportedFeatureError(`${part.path}.type`, 'this provider does not support audio')
  }
}

function cachePoint(cacheControl: unknown): Json[] {
  if (!isObject(cacheControl)) return []
  return [{ cachePoint: omitUndefined({ type: 'default', ttl: getString(cacheControl, 'ttl') }) }]
}

function encodeParts(parts: readonly Part[]): Json[] {
  return parts
    .filter((part) => !isBlankText(part))
    .flatMap((part) => [encodePart(part), ...cachePoint(part.cacheControl)])
}

function encodeThinking({ type, text, signature, data }: Json): Json | undefined {
  if (type === 'reasoning.encrypted') return { reasoningContent: { redactedContent: data } }
  if (type !== 'reasoning.text') return undefined
  return { reasoningContent: { reasoningText: omitUndefined({ text: text ?? '', signature }) } }
}

function encodeId(id: string): string {
  return boundedCallId(encodeCallId(id), maxCallIdLength)
}

function encodeContent(message: ChatMessage): Json[] {
  const blocks = encodeParts(message.parts)
  if (message.role === 'tool') {
    const content = blocks.length > 0 ? blocks : [{ text: '(nothing)' }]
    const status = message.isError ? { status: 'error' } : {}
    return [{ toolResult: { toolUseId: encodeId(message.toolCallId), content, ...status } }]
  }
  if (message.role !== 'assistant') return blocks
  const calls = message.toolCalls.map(({ id, name, input }) => {
    return { toolUse: { toolUseId: encodeId(id), name, input } }
  })
  return interleaveDetails([...blocks, ...calls], message.reasoningDetails, bedrockFormat, encodeThinking)
}

function encodeTool({ name, description, parameters, strict, cacheControl }: Tool): Json[] {
  const about = { name, description: description || undefined, strict: strict || undefined }
  return [
    { toolSpec: omitUndefined({ ...about, inputSchema: { json: parameters } }) },
    ...cachePoint(cacheControl),
  ]
}

/** Converse requires tools after tool calls. If the caller gives none, those that were called are named. */
function calledTools(messages: readonly ChatMessage[]): Json[] {
  const names = new Set(messages.flatMap(({ toolCalls }) => toolCalls.map(({ name }) => name)))
  const about = { description: 'No longer available.', inputSchema: { json: { type: 'object' } } }
  return Array.from(names, (name) => ({ toolSpec: { name, ...about } }))
}

/** Converse cannot forbid tools: they can only be omitted, which requires a conversation without tool calls. */
function encodeToolConfig({ tools, toolChoice, messages }: ParsedChatRequest): Json | undefined {
  if (tools.length === 0) {
    const called = calledTools(messages)
    return called.length > 0 ? { tools: called } : undefined
  }
  if (toolChoice === 'none') {
    if (messages.every(({ toolCalls }) => toolCalls.length === 0)) return undefined
    const problem = 'cannot be "none" for this provider after a tool has been called'
    throw new UnsupportedFeatureError('tool_choice', problem)
  }
  const config = { tools: tools.flatMap(encodeTool) }
  if (toolChoice === null) return config
  if (toolChoice === 'auto') return { ...config, toolChoice: { auto: {} } }
  if (toolChoice === 'required') return { ...config, toolChoice: { any: {} } }
  return { ...config, toolChoice: { tool: { name: toolChoice.name } } }
}

/** Sampling, and the fields that depend on the model: thinking, and `top_k`. */
function modelFields(
  request: ParsedChatRequest,
  model: string,
  maximumTokens: number,
): { readonly sampling: Sampling; readonly fields: Json | undefined } {
  const { reasoning } = request
  let sampling: Sampling = request
  let fields: Json = {}
  if (isClaude(model)) {
    const { thinking, effort } = claudeThinking(request, { model, maximumTokens, format: bedrockFormat })
    sampling = claudeSampling(request, { model, thinking })
    fields = omitUndefined({
      thinking,
      output_config: effort ? { effort } : undefined,
      top_k: sampling.topK,
    })
  } else if (reasoning?.effort && /gpt-oss/.test(model)) fields = { reasoning_effort: reasoning.effort }
  else if (reasoning?.effort === 'none' && /nova/.test(model))
    fields = { reasoningConfig: { type: 'disabled' } }
  else if (reasoning?.effort && /nova/.test(model)) {
    fields = { reasoningConfig: { type: 'enabled', maxReasoningEffort: reasoning.effort } }
  }
  return { sampling, fields: Object.keys(fields).length > 0 ? fields : undefined }
}

function encodeOutputConfig({ format }: ParsedChatRequest, model: string): Json | undefined {
  if (format.kind !== 'schema') return undefined
  const { name, description, strict } = format
  const schema = isClaude(model)
    ? closeSchema(format.schema, strict ? responseSchemaParam : null)
    : format.schema
  const jsonSchema = omitUndefined({ schema: JSON.stringify(schema), name, description })
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

/** Builds the request's body; the model's name is in the URL. */
export function buildBedrockBody(
  request: ParsedChatRequest,
  about: { readonly model: string; readonly modelMaximumTokens: number | null },
): Json {
  const { systemParts, turns } = alternateTurns(request.messages, encodeContent, {
    endsWithUser: !takesPrefill(about.model),
  })
  const system = encodeParts(systemParts)
  if (request.format.kind === 'object')
    system.push({ text: 'Answer with one valid JSON object and nothing else.' })
  const maximumTokens = request.maximumTokens ?? about.modelMaximumTokens ?? defaultMaximumTokens
  const { sampling, fields } = modelFields(request, about.model, maximumTokens)
  const inference = omitUndefined({
    maxTokens: request.maximumTokens ?? about.modelMaximumTokens ?? undefined,
    temperature: sampling.temperature === undefined ? undefined : Math.min(sampling.temperature, 1),
    topP: sampling.topP,
    stopSequences: nonBlankStops(request),
  })
  return omitUndefined({
    system: system.length > 0 ? system : undefined,
    messages: turns,
    toolConfig: encodeToolConfig(request),
    inferenceConfig: Object.keys(inference).length > 0 ? inference : undefined,
    outputConfig: encodeOutputConfig(request, about.model),
    additionalModelRequestFields: fields,
  })
}
