/**
 * Recognizes errors by which an upstream rejects a field that the relay added to a request, or translated into it. The
 * request is sent again without that field, and workers remember it by upstream and model. A field that the caller sent
 * in the upstream's own format is never left out: its error is the caller's.
 */
import type { LiveRoute } from '../../catalog/catalog.ts'
import type { ObservedMaximum } from '../../catalog/route-maximums.ts'
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import { getString, isObject } from '../../providers/json-fields.ts'
import { bothSamplings, hasHint, hintNamed } from '../../providers/request-hints.ts'
import type { RejectedField, SentRequest } from './attempt-call.ts'
import { rejectedOfResponses } from './responses-quirks.ts'
import type { UpstreamError } from './upstream-error.ts'

/** A field that a model of an upstream has rejected. Times are milliseconds since the epoch. */
export interface RejectedFieldRecord {
  readonly upstream: string
  readonly model: string
  readonly field: string
  readonly learnedAtMs: number
}

/** What workers have learned about upstreams. It outlives a request. */
export interface UpstreamQuirks {
  /** The fields that a model of an upstream has rejected lately. */
  rejectedFields(upstream: string, model: string, now: number): ReadonlySet<string>
  addRejectedField(record: RejectedFieldRecord): void
  /** A response has shown whether a route obeys the maximum of output tokens: the next hold takes it into account. */
  observeMaximum(observed: ObservedMaximum): void
}

const rejectionCodes = new Set(['unsupported_parameter', 'unsupported_value', 'unknown_parameter'])
const maximumFields = new Set(['max_tokens', 'max_completion_tokens'])
const samplingFields = new Set(['temperature', 'top_p', bothSamplings])

/** What relays and Amazon put before a provider's message. */
const prefixes =
  /^(?:(?:litellm\.\w+|Error from provider \([\w ]+\)|The model returned the following errors): ?)+/
/** The name of the rejected field in a message, which it must begin with: the rest may repeat the caller's text. */
const messages: readonly RegExp[] = [
  // OpenAI, Azure and most others.
  /^Un(?:supported|known|recognized)[a-z ]*: ["'`]?([\w.]+)/i,
  // Anthropic, Amazon, Groq.
  /^(?:property )?["'`]?([\w.]+)["'`]?:? (?:Extra inputs are not permitted|(?:is|are) (?:deprecated|unsupported|not (?:supported|permitted|allowed)))/i,
  // Ollama, xAI, LiteLLM.
  /^(?:this |model )?\S+ does not support (?:the )?(?:parameters?:? )?\W*([\w.]+)/i,
  /^Argument not supported on this model: ([\w.]+)/i,
  // Google.
  /^Invalid JSON payload received\. Unknown name "([\w.]+)"/i,
  /^(Thinking)(?: level)? is not (?:supported|enabled)/i,
  // Fireworks; pydantic as text and as Python's objects (vLLM).
  /^Extra inputs are not permitted, field: '([\w.]+)/i,
  /^\d+ validation errors? for \w+\s+([\w.]+)\s+Extra inputs/i,
  /^\W*'type': 'extra_forbidden', 'loc': \('body', '(\w+)'/,
]
/** The objects in which providers have these fields. */
const containers = /^(?:body|generation_?config|inference_?config|additional_?model_?request_?fields)\./i
const bothSamplingsMessage = /^\W*(?:temperature\W+and\W+top_p|top_p\W+and\W+temperature)\W+cannot both/i

/** The field in the errors of pydantic as JSON: a list, or an object with one in `detail`. */
function fieldInValidationErrors(message: string): string | null {
  if (!/^[[{]/.test(message)) return null
  let errors: unknown
  try {
    const body = parseBoundedJson(message)
    errors = isObject(body) ? body['detail'] : body
  } catch {
    return null
  }
  for (const error of Array.isArray(errors) ? errors : []) {
    if (!isObject(error) || !/extra/.test(getString(error, 'type') ?? '')) continue
    const { loc } = error
    if (Array.isArray(loc) && loc.length > 0) return loc.join('.')
  }
  return null
}

/** The name or path of the field that an error rejects, as the upstream calls it. */
function rejectedName({ message, param, code }: UpstreamError): string | null {
  if (param !== null && code !== null && rejectionCodes.has(code)) return param
  const text = message.replace(prefixes, '')
  for (const pattern of messages) {
    const name = pattern.exec(text)?.[1]
    if (name !== undefined) return name
  }
  return fieldInValidationErrors(text)
}

function rejectedPath(error: UpstreamError): string | null {
  return rejectedName(error)?.replace(containers, '') ?? null
}

function fieldOf(error: UpstreamError, stream: boolean): string | null {
  if (bothSamplingsMessage.test(error.message.replace(prefixes, ''))) return bothSamplings
  const [first = ''] = rejectedPath(error)?.split('.') ?? []
  const field = maximumFields.has(first) ? first : hintNamed(first)
  if (field !== undefined) return field
  // The relay answers this option itself, so that it may be left out whatever the upstream says about it.
  return stream && /stream_options|include_usage/.test(error.message + error.param) ? 'stream_options' : null
}

/** The caller's other options of streams may be what the upstream rejects. */
function hasOtherStreamOptions({ body }: SentRequest): boolean {
  const options = body.parsed()['stream_options']
  return isObject(options) && Object.keys(options).some((name) => name !== 'include_usage')
}

/** Whether the relay put the field into the request. */
function isAdded(field: string, sent: SentRequest): boolean {
  const { body, provider, maximumTokens, needsOwnField } = sent
  if (body.native) return false
  const isTranslated = provider.translation !== undefined || body.encodeResponse !== undefined
  if (field === 'stream_options') {
    return body.stream && !provider.translation && !hasOtherStreamOptions(sent)
  }
  if (maximumFields.has(field)) {
    const isSet = maximumTokens !== null || body.callerMaximumTokens !== undefined
    const isChosen = body.maxOutputField === null || (needsOwnField === true && body.maxOutputField !== field)
    return !provider.translation && isChosen && (isSet || needsOwnField === true)
  }
  return isTranslated && hasHint(body.parsed(), field)
}

/** What the request needs and the upstream lacks, though it can be asked otherwise. */
function lackedBy(
  { status, kind, message, param }: UpstreamError,
  { body }: SentRequest,
): RejectedField | null {
  const field = body.otherwise?.lacked
  if (field === 'path') return status === 404 || status === 405 ? { field, isAlways: true } : null
  // The message may repeat the caller's text, so that it says nothing about other requests.
  const isOfInput = param === null || param.startsWith('input')
  return field && kind === 'request' && isOfInput && message.includes(field)
    ? { field, isAlways: false }
    : null
}

/** The field to leave out; `null`: the error is for another reason. */
export function rejectedField(error: UpstreamError, sent: SentRequest): RejectedField | null {
  const ofResponses = lackedBy(error, sent) ?? rejectedOfResponses(error, sent)
  if (ofResponses || error.kind !== 'request') return ofResponses
  const field = fieldOf(error, sent.body.stream)
  if (field === null || sent.withoutFields?.has(field) || !isAdded(field, sent)) return null
  return { field, isAlways: isAlwaysRejected(field, error, sent) }
}

/** The fields of a request in which no other can be why the upstream rejects `stream_options`. */
const plainFields = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  ...maximumFields,
  'temperature',
])
/** What follows depends on the rest of the request. */
const condition =
  /\b(?:when|if|unless|while|together|combined|combination)\b|\bwith (?!th(?:is|e)\b|model\b)/i

/**
 * What a caller can bring about by its other fields must not change the requests of others: without `stream_options`
 * a stream has no usage to bill by, and the newest models of OpenAI take `temperature` and `top_p` only without reasoning.
 */
function isAlwaysRejected(
  field: string,
  error: UpstreamError,
  { body, withoutFields }: SentRequest,
): boolean {
  const { message, code } = error
  if (condition.test(message)) return false
  const isOneValue = code === 'unsupported_value' || /^Unsupported value/i.test(message)
  if (isOneValue && !/only the default/i.test(message)) return false
  const request = body.parsed()
  if (field === 'stream_options') {
    const isNamed = ['stream_options', 'stream_options.include_usage'].includes(rejectedPath(error) ?? '')
    return isNamed && Object.keys(request).every((name) => plainFields.has(name))
  }
  if (!samplingFields.has(field)) return true
  return withoutFields?.has('reasoning') || !hasHint(request, 'reasoning')
}

/** The fields to leave out: those that are known, and those that this request has shown. */
export function withRejected(
  known: ReadonlySet<string>,
  rejected: readonly RejectedField[],
): ReadonlySet<string> {
  return rejected.length === 0 ? known : known.union(new Set(rejected.map(({ field }) => field)))
}

/** Remembers fields that the upstream rejects in every request. */
export function rememberRejected(
  rejected: readonly RejectedField[],
  { upstream, upstreamModel: model }: LiveRoute,
  quirks: UpstreamQuirks,
  learnedAtMs: number,
): void {
  for (const { field, isAlways } of rejected)
    if (isAlways) quirks.addRejectedField({ upstream: upstream.id, model, field, learnedAtMs })
}
