/**
 * Encodes a chat request in Anthropic's format (Messages API, version 2023-06-01): system and developer messages become
 * `system`, adjacent messages of one side are merged, and thinking that Anthropic signed goes back to its position.
 */
import { alternateTurns, isBlankText, nonBlankStops } from '../alternating-turns.ts'
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ParsedChatRequest, Tool } from '../chat-request.ts'
import { encodeCallId } from '../tool-call-ids.ts'
import { opaqueUserId } from '../user-ids.ts'
import { claudeSampling } from './claude-sampling.ts'
import { takesPrefill } from './claude-models.ts'
import { claudeThinking } from './claude-thinking.ts'
import { closeSchema, responseSchemaParam } from './closed-schema.ts'
import { getObject, omitUndefined, getString, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'
import { anthropicFormat, interleaveDetails } from '../reasoning-details.ts'

/** JSON mode as an instruction to the model, since Anthropic supports only schemas. */
const objectInstruction = 'Answer with one valid JSON object and nothing else.'

/** If neither the caller, nor the hold, nor the catalog has a maximum. Every model can write this much. */
const defaultMaximumTokens = 4096

function encodeSource(source: Source): Json {
  return source.kind === 'url'
    ? { type: 'url', url: source.url }
    : {
        type: 'base64',
        media_type: source.mediaType.replace(/^image\/jpg$/, 'image/jpeg'),
        data: source.data,
      }
}

function encodeFile(part: Extract<Part, { kind: 'file' }>): Json {
  const { source, name } = part
  const isText = source.kind === 'data' && source.mediaType === 'text/plain'
  const data = isText ? Buffer.from(source.data, 'base64').toString('utf8') : ''
  return {
    type: 'document',
    source: isText ? { type: 'text', media_type: 'text/plain', data } : encodeSource(source),
    title: name ?? undefined,
  }
}

function encodePart(part: Part): Json {
  const cached = { cache_control: part.cacheControl ?? undefined }
  switch (part.kind) {
    case 'text':
      return omitUndefined({ type: 'text', text: part.text, ...cached })
    case 'image':
      return omitUndefined({ type: 'image', source: encodeSource(part.source), ...cached })
    case 'file':
      return omitUndefined({ ...encodeFile(part), ...cached })
    case 'audio':
      throw new UnsupportedFeatureError(`${part.path}.type`, 'this provider does not support audio')
  }
}

/** Anthropic rejects blank texts. */
function encodeParts(parts: readonly Part[]): Json[] {
  return parts.filter((part) => !isBlankText(part)).map(encodePart)
}

function encodeThinking(detail: Json): Json | undefined {
  const { type, text, signature, data } = detail
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data }
  if (type !== 'reasoning.text' || typeof signature !== 'string') return undefined
  return { type: 'thinking', thinking: typeof text === 'string' ? text : '', signature }
}

function encodeContent(message: ChatMessage): Json[] {
  const blocks = encodeParts(message.parts)
  switch (message.role) {
    case 'tool':
      return [
        omitUndefined({
          type: 'tool_result',
          tool_use_id: encodeCallId(message.toolCallId),
          content: blocks,
          is_error: message.isError || undefined,
        }),
      ]
    case 'assistant': {
      const calls = message.toolCalls.map(({ id, name, input }) => {
        return { type: 'tool_use', id: encodeCallId(id), name, input }
      })
      return interleaveDetails(
        [...blocks, ...calls],
        message.reasoningDetails,
        anthropicFormat,
        encodeThinking,
      )
    }
    case 'user':
    case 'system':
      return blocks
  }
}

function encodeSystem(systemParts: readonly Part[], { format }: ParsedChatRequest): Json[] | undefined {
  const blocks = encodeParts(systemParts)
  if (format.kind === 'object') blocks.push({ type: 'text', text: objectInstruction })
  return blocks.length > 0 ? blocks : undefined
}

function encodeTool({ name, description, parameters, strict, cacheControl }: Tool, index: number): Json {
  const cached = { cache_control: cacheControl ?? undefined }
  const schema = strict ? closeSchema(parameters, `tools[${index}].function.parameters`) : parameters
  return omitUndefined({
    name,
    description,
    input_schema: schema,
    strict: strict || undefined,
    ...cached,
  })
}

function encodeToolChoice({ tools, toolChoice, isParallel }: ParsedChatRequest): Json | undefined {
  if (tools.length === 0) return undefined
  if (toolChoice === 'none') return { type: 'none' }
  if (toolChoice === null && isParallel) return undefined
  const single = isParallel ? {} : { disable_parallel_tool_use: true }
  if (toolChoice === null || toolChoice === 'auto') return { type: 'auto', ...single }
  if (toolChoice === 'required') return { type: 'any', ...single }
  return { type: 'tool', name: toolChoice.name, ...single }
}

/** Builds the request's body. `modelMaximumTokens`: the model's maximum, for callers that set none. */
export function buildAnthropicBody(
  request: ParsedChatRequest,
  about: { readonly model: string; readonly modelMaximumTokens: number | null; readonly stream: boolean },
): Json {
  const { json, format, tools } = request
  const maximumTokens = request.maximumTokens ?? about.modelMaximumTokens ?? defaultMaximumTokens
  const { model } = about
  const { thinking, effort } = claudeThinking(request, { model, maximumTokens, format: anthropicFormat })
  const { temperature, topP, topK } = claudeSampling(request, { model, thinking })
  const { systemParts, turns } = alternateTurns(request.messages, encodeContent, {
    endsWithUser: !takesPrefill(model),
  })
  const schema =
    format.kind === 'schema'
      ? {
          type: 'json_schema',
          schema: closeSchema(format.schema, format.strict ? responseSchemaParam : null),
        }
      : undefined
  const user = getString(json, 'user')
  return omitUndefined({
    model,
    max_tokens: maximumTokens,
    system: encodeSystem(systemParts, request),
    messages: turns,
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: encodeToolChoice(request),
    thinking,
    output_config: effort || schema ? omitUndefined({ effort, format: schema }) : undefined,
    temperature,
    top_p: topP,
    top_k: topK,
    stop_sequences: nonBlankStops(request),
    cache_control: getObject(json, 'cache_control'),
    metadata: user === undefined ? undefined : { user_id: opaqueUserId(user) },
    stream: about.stream || undefined,
  })
}
