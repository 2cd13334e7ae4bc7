/** Translates responses in the OpenAI format into Anthropic's, and has what streams share with them. */
import { newId } from '../lib/ids.ts'
import { getObject, getObjects, getString, type Json, lookup } from '../providers/json-fields.ts'
import { encodeArguments } from '../providers/tool-call-pieces.ts'
import { noUsage, parseUsageOf } from '../providers/usage.ts'
import { finishClassOf } from '../providers/finish-reasons.ts'
import { encodeCallId } from '../providers/tool-call-ids.ts'
import { originalToolName } from './tool-names.ts'
import { isEncrypted, wrapSignature, withoutText } from './thinking-signature.ts'
import { extractPieces, type ContentPiece } from './content-pieces.ts'
import { serializeMessagesUsage, type StopReason } from './messages-events.ts'

/** What the translation of a response needs to know. */
export interface ResponseContext {
  /** The provider of the response. */
  readonly provider: string
  /** The caller's request, in Anthropic's format. */
  readonly request: Json
  /** The relay's estimate of the input, which streams begin with: providers report it at the end. */
  inputTokens(): number
}

const reasons: Readonly<Record<string, string>> = { tool_calls: 'tool_use', function_call: 'tool_use' }
const reasonsByClass: Readonly<Record<string, string>> = { length: 'max_tokens', filtered: 'refusal' }
/** Anthropic's stop reasons that other providers use unchanged. */
const sharedReasons = new Set(['stop_sequence', 'pause_turn', 'model_context_window_exceeded'])

function stopSequencesOf(request: Json): readonly string[] {
  const stops = request['stop_sequences']
  return Array.isArray(stops) ? stops.filter((each) => typeof each === 'string') : []
}

/** The stop reason of a choice. `hasCalls`: some providers report `stop` after tool calls. */
export function stopReasonOf(
  choice: Json,
  hasCalls: boolean,
  { provider, request }: Pick<ResponseContext, 'provider' | 'request'>,
): StopReason {
  const finish = getString(choice, 'finish_reason') || 'stop'
  const native = getString(choice, 'native_finish_reason') ?? finish
  // vLLM reports the stop sequence that it met.
  const matchedStop = getString(choice, 'stop_reason')
  if (finish === 'stop' && matchedStop !== undefined && stopSequencesOf(request).includes(matchedStop)) {
    return { reason: 'stop_sequence', sequence: matchedStop }
  }
  if (sharedReasons.has(native)) return { reason: native, sequence: null }
  const known = finishClassOf(provider, finish)
  const ended = hasCalls ? 'tool_use' : 'end_turn'
  // An unknown reason is passed on as it is.
  const reason =
    lookup(reasons, finish) ?? (known === null ? finish : (lookup(reasonsByClass, known) ?? ended))
  return { reason, sequence: null }
}

export function encodeRedactedThinking(provider: string, detail: Json): Json {
  return { type: 'redacted_thinking', data: wrapSignature(provider, detail) }
}

function encodeThinking(joinedText: string, details: readonly Json[], provider: string): Json[] {
  const readable = details.filter((detail) => !isEncrypted(detail))
  if (readable.length === 0) {
    return joinedText === ''
      ? []
      : [{ type: 'thinking', thinking: joinedText, signature: wrapSignature(provider) }]
  }
  return readable.map((detail) => ({
    type: 'thinking',
    thinking: getString(detail, 'text') ?? getString(detail, 'summary') ?? '',
    signature: wrapSignature(provider, withoutText(detail)),
  }))
}

/** Parses a tool's input. Invalid JSON of the model is kept as a string. */
function parseToolInput(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return { input: text }
  }
}

function encodeContent(message: Json, { provider, request }: ResponseContext): Json[] {
  const details = getObjects(message, 'reasoning_details')
  const calls = getObjects(message, 'tool_calls')
  const ids = new Set(calls.map((call) => call['id']))
  const belongsToCall = (detail: Json): boolean => detail['id'] !== undefined && ids.has(detail['id'])
  const pieces = extractPieces(message)
  const joinedText = (...kinds: ContentPiece['kind'][]): string =>
    pieces.map(({ kind, text }) => (kinds.includes(kind) ? text : '')).join('')
  const hidden = details.filter((detail) => isEncrypted(detail) && !belongsToCall(detail))
  const text = joinedText('text', 'refusal')
  return [
    ...encodeThinking(joinedText('thinking'), details, provider),
    ...hidden.map((detail) => encodeRedactedThinking(provider, detail)),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.flatMap((call) => {
      const called = getObject(call, 'function') ?? {}
      const id = getString(call, 'id') || newId('toolu')
      const hiddenDetails = details.filter((detail) => isEncrypted(detail) && detail['id'] === id)
      const input = parseToolInput(encodeArguments(called['arguments']))
      const name = originalToolName(getString(called, 'name') ?? '', request)
      const use = { type: 'tool_use', id: encodeCallId(id), name, input }
      return [...hiddenDetails.map((detail) => encodeRedactedThinking(provider, detail)), use]
    }),
  ]
}

/** Translates a non-streaming response. */
export function translateChatResponse(response: Json, context: ResponseContext): Json {
  const [choice = {}] = getObjects(response, 'choices')
  const message = getObject(choice, 'message') ?? {}
  const hasCalls = getObjects(message, 'tool_calls').length > 0
  const { reason, sequence } = stopReasonOf(choice, hasCalls, context)
  return {
    id: getString(response, 'id') ?? newId('msg'),
    type: 'message',
    role: 'assistant',
    model: getString(response, 'model') ?? '',
    content: encodeContent(message, context),
    stop_reason: reason,
    stop_sequence: sequence,
    usage: serializeMessagesUsage(parseUsageOf(response) ?? noUsage),
  }
}
