/**
 * The body of a chat completion request in the OpenAI format: parsed once from its bytes, validated where the relay
 * depends on it, and sent upstream with only the model's name, the usage option and the output maximum patched in
 * place. A body that parsers could read differently is first rewritten so that they cannot.
 */
import { apiError } from '../../errors.ts'
import { type JsonMember, type JsonValueVisitor, scanJsonObject } from '../../lib/json/json-scanner.ts'
import type { BodyEdits, Provider } from '../../providers/provider.ts'
import type { Json } from '../../providers/json-fields.ts'
import { withoutSignedDetails } from '../../providers/reasoning-details.ts'
import type { CallerRequest, StreamEncoder, RequestEncoding } from './caller-format.ts'
import { openAIFormat, ChatStreamEncoder } from '../streaming/chat-stream-encoder.ts'
import type { EmbeddedData } from './embedded-data.ts'
import { inputEstimateForCharge } from './token-estimate.ts'
import { MessageScanner, type Span } from './message-scanner.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import {
  findHostedTools,
  findRestricted,
  noRestrictedFields,
  type RestrictedField,
} from './restricted-fields.ts'
import { readFields, type OutputMaximumField, type RequestFields } from './request-fields.ts'

/**
 * Parses a chat completion request. Throws `invalid_json`, or `invalid_request` with the field in `param`. The provider
 * validates the content of the messages and all fields that the relay does not know.
 */
export function readChatRequest(body: Buffer): ChatCompletionRequest {
  const scanned = scanBody(body, () => new MessageScanner())
  const fields = readFields(scanned.text, scanned.members)
  scanned.scanner.validate()
  return new ChatCompletionRequest(scanned, fields)
}

/** A scanned body that all parsers read alike. */
export interface ScannedBody<Scanner = MessageScanner> {
  /** The length of the body as received. */
  readonly bytes: number
  /** The body as received, or rewritten if it was ambiguous. */
  readonly text: Buffer
  readonly members: readonly JsonMember[]
  readonly scanner: Scanner
}

/** Scans a body. `createScanner` is called once for each scan. Throws as `readChatRequest`. */
export function scanBody<Scanner extends JsonValueVisitor>(
  body: Buffer,
  createScanner: () => Scanner,
): ScannedBody<Scanner> {
  let scanner = createScanner()
  let text = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body
  let scan = scanJsonObject(text, scanner)
  if (scan.kind === 'uncertain' && scan.members !== undefined) {
    text = canonicalizeKeys(text, scan.members)
    scanner = createScanner()
    scan = scanJsonObject(text, scanner)
  }
  if (scan.kind === 'other') throw apiError('invalid_request', { message: 'The body must be a JSON object.' })
  if (scan.kind === 'invalid') {
    throw apiError('invalid_json', {
      message: `The body is not valid JSON in UTF-8: error at byte ${scan.at}.`,
    })
  }
  // A key that still has an escape needs it, such as for a quote; each key occurs once.
  const { members } = scan
  if (members === undefined) {
    throw apiError('invalid_request', { message: 'The body is nested too deeply or has too many fields.' })
  }
  return { bytes: body.length, text, members, scanner }
}

function restrictedFieldsOf(
  { text, scanner: { otherTools } }: ScannedBody,
  { restricted }: RequestFields,
): readonly RestrictedField[] {
  if (restricted === undefined && otherTools === undefined) return noRestrictedFields
  return [...findRestricted(text, restricted ?? []), ...findHostedTools(text, otherTools ?? [], () => false)]
}

/** What requests of all formats have in common. */
export abstract class ScannedRequest {
  readonly bytes: number
  readonly embedded: EmbeddedData
  readonly text: Buffer
  readonly members: readonly JsonMember[]
  #parsed: Json | undefined
  #inputTokens: number | undefined

  constructor({ bytes, text, members, scanner }: ScannedBody, embedded = scanner.embedded) {
    this.bytes = bytes
    this.embedded = embedded
    this.text = text
    this.members = members
  }

  parsed(): Json {
    this.#parsed ??= JSON.parse(this.text.toString()) as Json
    return this.#parsed
  }

  inputTokens(): number {
    return (this.#inputTokens ??= this.estimateInputTokens())
  }

  protected abstract estimateInputTokens(): number
}

/** A chat completion request, parsed and validated. */
export class ChatCompletionRequest extends ScannedRequest implements CallerRequest, RequestEncoding {
  readonly format = openAIFormat
  readonly isPassthrough = false
  readonly model: string
  readonly stream: boolean
  readonly n: number
  readonly maxOutputTokens: number | null
  readonly maxOutputField: OutputMaximumField | null
  readonly callerMaximumTokens?: number
  readonly restricted: readonly RestrictedField[]
  readonly #thinking: readonly Span[] | undefined
  readonly #fields: RequestFields

  constructor(scanned: ScannedBody, fields: RequestFields) {
    super(scanned)
    this.model = fields.model
    this.stream = fields.stream
    this.n = fields.n
    this.maxOutputTokens = fields.maxOutputTokens
    this.maxOutputField = fields.maxOutputField
    if (fields.maxOutputTokens !== null && fields.maxOutputField === null)
      this.callerMaximumTokens = fields.maxOutputTokens
    this.restricted = restrictedFieldsOf(scanned, fields)
    this.#thinking = scanned.scanner.thinking
    this.#fields = fields
  }

  /** The caller requests the usage in the stream. */
  get includeUsage(): boolean {
    return this.#fields.streamOptions['include_usage'] === true
  }

  protected estimateInputTokens(): number {
    return inputEstimateForCharge(this.parsed())
  }

  encodingFor(_provider: Provider): RequestEncoding {
    return this
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new ChatStreamEncoder(this.includeUsage, meter)
  }

  /** The body for an upstream, in pieces; most of them are views of the caller's bytes. */
  encode(edits: BodyEdits): Buffer[] {
    const changes = new Map<string, string>()
    for (const [key, value] of Object.entries(edits.extra ?? {})) {
      if (value !== undefined) changes.set(key, JSON.stringify(value))
    }
    changes.set('model', JSON.stringify(edits.model))
    if (this.#thinking && !edits.takesSignedThinking) this.#dropSignedThinking(changes, this.#thinking)
    const dropped = this.#setOutputMaximum(changes, edits.maximum)
    const hasNoOptions = edits.withoutFields?.has('stream_options') ?? false
    if (this.stream && !hasNoOptions) {
      const { include_usage: _, ...options } = this.#fields.streamOptions
      changes.set('stream_options', JSON.stringify({ ...options, include_usage: true }))
    }
    if (hasNoOptions) dropped.push('stream_options')
    return patchBody(this, changes, dropped)
  }

  /** Drops reasoning that a provider with another API format has signed; keeps all other bytes. */
  #dropSignedThinking(changes: Map<string, string>, lists: readonly Span[]): void {
    const messages = this.members.find(({ key }) => key === 'messages') as JsonMember
    let text = ''
    let from = messages.start
    for (const { start, end } of lists) {
      const details = JSON.parse(this.text.toString('utf8', start, end)) as unknown[]
      const kept = withoutSignedDetails(details)
      if (kept.length === details.length) continue
      text += this.text.toString('utf8', from, start) + JSON.stringify(kept)
      from = end
    }
    if (text !== '') changes.set('messages', text + this.text.toString('utf8', from, messages.end))
  }

  /** Leaves one maximum: in the caller's field, or in the upstream's. Returns the name of the other field. */
  #setOutputMaximum(changes: Map<string, string>, maximum: BodyEdits['maximum']): string[] {
    const tokens = Math.min(maximum?.tokens ?? Infinity, this.maxOutputTokens ?? Infinity)
    if (tokens === Infinity) return []
    const field = maximum?.field ?? this.maxOutputField ?? 'max_tokens'
    if (this.maxOutputField !== field || tokens !== this.maxOutputTokens) changes.set(field, String(tokens))
    return [field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens']
  }
}

/**
 * Patches the members of a JSON object: replaces some, adds others at the end, and drops some.
 * @param changes JSON texts by key
 */
export function patchBody(
  { text, members }: Pick<ScannedBody, 'text' | 'members'>,
  changes: ReadonlyMap<string, string>,
  dropped: readonly string[],
): Buffer[] {
  const pieces: Buffer[] = []
  const added = new Set(changes.keys())
  let from = 0
  /** The end of the last member that is kept; 0: none is yet. */
  let lastEnd = 0
  for (let i = 0; i < members.length; i++) {
    const { key, keyStart, start, end } = members[i] as JsonMember
    const value = changes.get(key)
    if (value !== undefined) {
      pieces.push(text.subarray(from, start), Buffer.from(value))
      added.delete(key)
      from = end
    } else if (dropped.includes(key)) {
      // With the comma before it, or after it if no member is kept before.
      pieces.push(text.subarray(from, Math.max(from, lastEnd === 0 ? keyStart : lastEnd)))
      from = lastEnd === 0 ? (members[i + 1]?.keyStart ?? end) : end
      continue
    }
    lastEnd = end
  }
  if (added.size > 0) {
    const end = Math.max(from, lastEnd)
    const texts = Array.from(added, (key) => `${JSON.stringify(key)}:${changes.get(key)}`)
    pieces.push(text.subarray(from, end), Buffer.from(`${lastEnd === 0 ? '' : ','}${texts.join(',')}`))
    from = end
  }
  pieces.push(text.subarray(from))
  return pieces
}

/**
 * Rewrites an object so that all parsers read it alike: each key occurs once, with its last value (as in JSON.parse),
 * and keys have no unnecessary escapes. Values are copied unchanged.
 */
function canonicalizeKeys(text: Buffer, members: readonly JsonMember[]): Buffer {
  const last = new Map(members.map((member) => [member.key, member]))
  const pieces: Buffer[] = []
  for (const [key, { start, end }] of last) {
    const before = `${pieces.length === 0 ? '{' : ','}${JSON.stringify(key)}:`
    pieces.push(Buffer.from(before), text.subarray(start, end))
  }
  return Buffer.concat([...pieces, Buffer.from('}')])
}
