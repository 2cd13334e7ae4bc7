/**
 * The body of a chat completion request in the OpenAI format: parsed once from its bytes, validated where the relay
 * depends on it, and sent upstream with only the model's name, the usage option and the output maximum patched in
 * place. A body that parsers could read differently is first rewritten so that they cannot.
 */
import { apiError } from '../../errors.ts'
import { type JsonMember, scanJsonObject } from '../../lib/json/json-scanner.ts'
import type { BodyEdits, Provider } from '../../providers/provider.ts'
import { withoutSignedDetails } from '../../providers/reasoning-details.ts'
import type { CallerRequest, StreamEncoder, RequestEncoding } from './caller-format.ts'
import { openAIFormat, ChatStreamEncoder } from '../streaming/chat-stream-encoder.ts'
import { inputEstimateForCharge, type EmbeddedData } from './token-estimate.ts'
import { MessageScanner, type Span } from './message-scanner.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import { type OutputMaximumField, readFields, type RequestFields } from './request-fields.ts'

export type { OutputMaximumField }

/**
 * Parses a chat completion request. Throws `invalid_json`, or `invalid_request` with the field in `param`. The provider
 * validates the content of the messages and all fields that the relay does not know.
 */
export function readChatRequest(body: Buffer): ChatCompletionRequest {
  const { text, members, scanner } = scanBody(body, () => new MessageScanner())
  const fields = readFields(text, members)
  scanner.validate()
  const { embedded, thinking } = scanner
  return new ChatCompletionRequest(text, members, fields, { bytes: body.length, embedded, thinking })
}

/** A scanned body that all parsers read alike. */
export interface ScannedBody {
  readonly text: Buffer
  readonly members: readonly JsonMember[]
  readonly scanner: MessageScanner
}

/** Scans a body. `createScanner` is called once for each scan. Throws as `readChatRequest`. */
export function scanBody(body: Buffer, createScanner: () => MessageScanner): ScannedBody {
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
  return { text, members, scanner }
}

/** A chat completion request, parsed and validated. */
export class ChatCompletionRequest implements CallerRequest, RequestEncoding {
  readonly format = openAIFormat
  readonly isPassthrough = false
  /** The length of the body as received. */
  readonly bytes: number
  /** Data embedded in the messages, for the hold's estimate. */
  readonly embedded: EmbeddedData
  readonly model: string
  readonly stream: boolean
  /** The caller requests the usage in the stream. */
  readonly includeUsage: boolean
  /** The number of results requested; 1 by default. */
  readonly n: number
  /** The caller's maximum of output tokens, the smaller one if there are two; null: none. */
  readonly maxOutputTokens: number | null
  /** The field of this maximum. */
  readonly maxOutputField: OutputMaximumField | null
  /** The body as received, or rewritten if it was ambiguous. */
  readonly body: Buffer
  readonly #thinking: readonly Span[] | undefined
  readonly #members: readonly JsonMember[]
  readonly #fields: RequestFields
  #parsed: Readonly<Record<string, unknown>> | undefined
  #inputTokens: number | undefined

  constructor(
    body: Buffer,
    members: readonly JsonMember[],
    fields: RequestFields,
    size: Pick<MessageScanner, 'embedded' | 'thinking'> & { readonly bytes: number },
  ) {
    this.body = body
    this.bytes = size.bytes
    this.embedded = size.embedded
    this.model = fields.model
    this.stream = fields.stream
    this.includeUsage = fields.includeUsage
    this.n = fields.n
    this.maxOutputTokens = fields.maxOutputTokens
    this.maxOutputField = fields.maxOutputField
    this.#thinking = size.thinking
    this.#members = members
    this.#fields = fields
  }

  /** The request as an object, parsed on the first call. Must not be changed. */
  parsed(): Readonly<Record<string, unknown>> {
    this.#parsed ??= JSON.parse(this.body.toString()) as Record<string, unknown>
    return this.#parsed
  }

  inputTokens(): number {
    return (this.#inputTokens ??= inputEstimateForCharge(this.parsed()))
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
    if (edits.maximum !== undefined)
      this.#capOutputMaximum(changes, edits.maximum.tokens, edits.maximum.field)
    const hasNoOptions = edits.withoutFields?.has('stream_options') ?? false
    if (this.stream && !hasNoOptions) {
      const { include_usage: _, ...options } = this.#fields.streamOptions
      changes.set('stream_options', JSON.stringify({ ...options, include_usage: true }))
    }
    return patchBody(this.body, this.#members, changes, hasNoOptions ? 'stream_options' : undefined)
  }

  /** Drops reasoning that a provider with another API format has signed; keeps all other bytes. */
  #dropSignedThinking(changes: Map<string, string>, lists: readonly Span[]): void {
    const messages = this.#members.find(({ key }) => key === 'messages') as JsonMember
    let text = ''
    let from = messages.start
    for (const { start, end } of lists) {
      const details = JSON.parse(this.body.toString('utf8', start, end)) as unknown[]
      const kept = withoutSignedDetails(details)
      if (kept.length === details.length) continue
      text += this.body.toString('utf8', from, start) + JSON.stringify(kept)
      from = end
    }
    if (text !== '') changes.set('messages', text + this.body.toString('utf8', from, messages.end))
  }

  #capOutputMaximum(changes: Map<string, string>, tokens: number, field: string): void {
    if (this.maxOutputField === null) changes.set(field, String(tokens))
    for (const [name, given] of Object.entries(this.#fields.maximums)) {
      if (given !== undefined && given > tokens) changes.set(name, String(tokens))
    }
  }
}

/**
 * Patches the members of a JSON object: replaces some, adds others at the end, and drops one.
 * @param changes JSON texts by key
 */
export function patchBody(
  text: Buffer,
  members: readonly JsonMember[],
  changes: ReadonlyMap<string, string>,
  dropped: string | undefined,
): Buffer[] {
  const pieces: Buffer[] = []
  const added = new Set(changes.keys())
  let from = 0
  let lastEnd = 0
  for (let i = 0; i < members.length; i++) {
    const { key, keyStart, start, end } = members[i] as JsonMember
    const value = changes.get(key)
    if (value !== undefined) {
      pieces.push(text.subarray(from, start), Buffer.from(value))
      added.delete(key)
      from = end
    } else if (key === dropped) {
      // With the comma after it, or before it if it is the last member.
      const next = members[i + 1]?.keyStart
      pieces.push(text.subarray(from, next === undefined ? lastEnd : keyStart))
      from = next ?? end
      if (next === undefined) break
    }
    lastEnd = end
  }
  if (added.size > 0) {
    const end = Math.max(from, lastEnd)
    const texts = Array.from(added, (key) => `,${JSON.stringify(key)}:${changes.get(key)}`)
    pieces.push(text.subarray(from, end), Buffer.from(texts.join('')))
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
