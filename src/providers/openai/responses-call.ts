/**
 * Encodes a chat request as a request of the Responses API (OpenAI API reference, "Create a response"), for models that
 * only that API serves. It stores nothing there: reasoning comes back encrypted, and callers return it.
 */
import { encodeSource, joinText, type ChatMessage, type Part } from '../chat-messages.ts'
import { parseChatRequest, requireSingleResult, type ParsedChatRequest, type Tool } from '../chat-request.ts'
import { getNumber, getObject, getString, isObject, omitUndefined, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError, type UpstreamCall } from '../provider.ts'
import { interleaveDetails, responsesFormat } from '../reasoning-details.ts'
import { boundedCallId } from '../tool-call-ids.ts'
import { hintsRejectedBy } from './openai-models.ts'

/**
 * What the relay adds to a request, by the field that an upstream names if it rejects it: summaries need a verified
 * organization, encrypted reasoning needs a model that reasons.
 */
export const summaryField = 'reasoning.summary'
export const includeField = 'include'
/** Reasoning that the caller returns; an upstream can read only its own. */
export const returnedReasoning = 'reasoning_details'

/** The API's minimum of `max_output_tokens`. */
export const minOutputTokens = 16
const maxCallIdLength = 64
const defaultFileName = 'document.pdf'
const defaultFormatName = 'answer'

/** Fields that both APIs have. */
const sharedFields = [
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'user',
]

const isZero = (value: unknown): boolean => value === 0
const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0
const isTextOnly = (value: unknown): boolean => Array.isArray(value) && !value.includes('audio')
const never = (): boolean => false

/** Fields that the API does not have, with the values that ask for nothing. */
const unsupportedFields: readonly (readonly [name: string, asksForNothing: (value: unknown) => boolean])[] = [
  ['audio', never],
  ['modalities', isTextOnly],
  ['frequency_penalty', isZero],
  ['presence_penalty', isZero],
  ['logit_bias', isEmpty],
  ['seed', never],
]

function rejectUnsupported(request: ParsedChatRequest): void {
  const { json, stop } = request
  requireSingleResult(request)
  const found = unsupportedFields.find(
    ([name, asksForNothing]) => (json[name] ?? null) !== null && !asksForNothing(json[name]),
  )
  const param = stop === undefined ? found?.[0] : 'stop'
  if (param !== undefined) throw new UnsupportedFeatureError(param, 'not supported by the API of this model')
}

function encodePart(part: Part): Json {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image':
      return omitUndefined({
        type: 'input_image',
        image_url: encodeSource(part.source),
        detail: part.detail,
      })
    case 'file':
      return part.source.kind === 'url'
        ? { type: 'input_file', file_url: part.source.url }
        : {
            type: 'input_file',
            filename: part.name ?? defaultFileName,
            file_data: encodeSource(part.source),
          }
    case 'audio':
      throw new UnsupportedFeatureError(
        `${part.path}.type`,
        'audio is not supported by the API of this model',
      )
  }
}

/** Encodes text alone as a string. */
function encodeContent(parts: readonly Part[]): unknown {
  return parts.every((part) => part.kind === 'text') ? joinText(parts) : parts.map(encodePart)
}

/** Only reasoning that the API has encrypted is of use to it, without the id: it may not differ from the original one. */
function encodeReasoningItem(detail: Json): Json | undefined {
  const encrypted = getString(detail, 'signature') ?? getString(detail, 'data')
  return encrypted === undefined
    ? undefined
    : { type: 'reasoning', summary: [], encrypted_content: encrypted }
}

function encodeAssistantTurn(
  { parts, toolCalls, reasoningDetails }: ChatMessage,
  keepsReasoning: boolean,
): Json[] {
  const text = joinText(parts)
  const calls = toolCalls.map(({ id, name, input }) => ({
    type: 'function_call',
    call_id: boundedCallId(id, maxCallIdLength),
    name,
    arguments: JSON.stringify(input),
  }))
  const items = text === '' ? calls : [{ role: 'assistant', content: text }, ...calls]
  // Reasoning alone is rejected: what it led to must follow.
  if (!keepsReasoning || items.length === 0) return items
  return interleaveDetails(items, reasoningDetails, responsesFormat, encodeReasoningItem)
}

function encodeMessage(message: ChatMessage, keepsReasoning: boolean): Json[] {
  const { role, parts, toolCallId } = message
  if (role === 'assistant') return encodeAssistantTurn(message, keepsReasoning)
  if (role !== 'tool') return [{ role, content: encodeContent(parts) }]
  const callId = boundedCallId(toolCallId, maxCallIdLength)
  return [{ type: 'function_call_output', call_id: callId, output: encodeContent(parts) }]
}

/** `strict` is the default of this API, but not of chat completions. */
function encodeTool({ name, description, parameters, strict }: Tool): Json {
  return omitUndefined({ type: 'function', name, description, parameters, strict })
}

/** The search of `web_search_options`, under the name by which deep research takes it, too. */
function encodeSearch({ json }: ParsedChatRequest): Json[] {
  const options = getObject(json, 'web_search_options')
  if (!options) return []
  const location = getObject(options, 'user_location')
  const tool = {
    type: 'web_search_preview',
    search_context_size: getString(options, 'search_context_size'),
    user_location: location && { type: 'approximate', ...getObject(location, 'approximate') },
  }
  return [omitUndefined(tool)]
}

function encodeTools(request: ParsedChatRequest): Json {
  const { toolChoice, isParallel } = request
  const tools = [...request.tools.map(encodeTool), ...encodeSearch(request)]
  if (tools.length === 0) return {}
  const isNamed = toolChoice !== null && typeof toolChoice === 'object'
  return omitUndefined({
    tools,
    tool_choice: isNamed ? { type: 'function', name: toolChoice.name } : (toolChoice ?? undefined),
    parallel_tool_calls: isParallel ? undefined : false,
  })
}

function encodeFormat({ format }: ParsedChatRequest): Json | undefined {
  if (format.kind === 'text') return undefined
  if (format.kind === 'object') return { type: 'json_object' }
  const { name = defaultFormatName, description, schema, strict } = format
  return omitUndefined({ type: 'json_schema', name, description, schema, strict })
}

/** An empty object, whose fields have their defaults, is left out. */
function unlessEmpty(json: Json): Json | undefined {
  const defined = omitUndefined(json)
  return isEmpty(defined) ? undefined : defined
}

/** Callers that ask for reasoning want to see it; other APIs return it unasked. */
function encodeReasoning(
  { reasoning }: ParsedChatRequest,
  { withoutFields }: UpstreamCall,
): Json | undefined {
  if (reasoning === null) return undefined
  const { effort, isHidden } = reasoning
  const isShown = effort !== 'none' && !isHidden && withoutFields?.has(summaryField) !== true
  return unlessEmpty({ effort: effort ?? undefined, summary: isShown ? 'auto' : undefined })
}

function encodeInclude({ json }: ParsedChatRequest, { withoutFields }: UpstreamCall): string[] | undefined {
  const include = withoutFields?.has(includeField) === true ? [] : ['reasoning.encrypted_content']
  if (json['logprobs'] === true) include.push('message.output_text.logprobs')
  return include.length > 0 ? include : undefined
}

/** Builds the request's body. Throws `UnsupportedFeatureError`. */
export function buildResponsesBody(call: UpstreamCall): Json {
  const hints = new Set([...hintsRejectedBy(call.model), ...(call.withoutFields ?? [])])
  const request = parseChatRequest({ ...call, withoutFields: hints }, undefined, { returnsLogprobs: true })
  rejectUnsupported(request)
  const { json, messages, maximumTokens } = request
  const keepsReasoning = !hints.has(returnedReasoning)
  return omitUndefined({
    model: call.model,
    input: messages.flatMap((message) => encodeMessage(message, keepsReasoning)),
    ...encodeTools(request),
    text: unlessEmpty({ format: encodeFormat(request), verbosity: getString(json, 'verbosity') }),
    reasoning: encodeReasoning(request, call),
    include: encodeInclude(request, call),
    max_output_tokens: maximumTokens === null ? undefined : Math.max(maximumTokens, minOutputTokens),
    temperature: request.temperature,
    top_p: request.topP,
    top_logprobs: getNumber(json, 'top_logprobs'),
    ...Object.fromEntries(sharedFields.map((name) => [name, json[name] ?? undefined])),
    store: false,
    stream: call.body.stream,
  })
}
