/**
 * The caller's chat request: read once from its bytes, checked where the relay itself depends on it, and passed on
 * to the provider's taste with only the model's name, the usage option and the output maximum changed in place.
 * A body that readers could understand differently is first written again so that they cannot.
 */
import { refuse } from '../../errors.ts'
import { type JsonMember, scanObject } from '../../lib/json/json-scanner.ts'
import type { Provider } from '../../providers/provider.ts'
import { detailsForChat } from '../../providers/reasoning-details.ts'
import type { CallerRequest, StreamWords, Wording } from '../caller-format.ts'
import { chatFormat, ChatWords } from '../chat-words.ts'
import { inputEstimateForCharge, type Embedded } from './token-estimate.ts'
import { MessageShapes, type Span } from './message-scanner.ts'
import type { Meter } from '../streaming/usage-meter.ts'
import { type OutputMaximumField, readFields, type RequestFields } from './request-fields.ts'

export type { OutputMaximumField }

/** What to change on the way to one upstream. */
export interface BodyEdits {
  /** The model's name there. */
  readonly model: string
  /**
   * The most output tokens to allow. Any maximum of the caller's that is larger is lowered to it; when the caller
   * gave none, it is set under `field`, the provider's name for it.
   */
  readonly maximum?: { readonly tokens: number; readonly field: string }
  /** For an upstream that refuses `stream_options`: leaves it out instead of asking for the usage. */
  readonly withoutStreamOptions?: boolean
  /** An upstream that hands out other providers' signed thinking itself, and takes it back. */
  readonly takesSignedThinking?: boolean
  /** Further members; they take the place of the caller's. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/**
 * Reads a chat request. Throws `invalid_json`, or `invalid_request` with the field in `param`; the content of the
 * messages and all fields that the relay does not know are left to the provider.
 */
export function readChatRequest(body: Buffer): ChatRequest {
  const { text, members, shapes } = readBody(body, () => new MessageShapes())
  const fields = readFields(text, members)
  shapes.check()
  const { embedded, thinking } = shapes
  return new ChatRequest(text, members, fields, { bytes: body.length, embedded, thinking })
}

/** A body that has been scanned, and is such that nobody can read it differently. */
export interface ReadBody {
  readonly text: Buffer
  readonly members: readonly JsonMember[]
  readonly shapes: MessageShapes
}

/** Scans a body. `shapesOf`: makes what looks at the messages, once for each scan. Throws as `readChatRequest`. */
export function readBody(body: Buffer, shapesOf: () => MessageShapes): ReadBody {
  let shapes = shapesOf()
  let text = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body
  let scan = scanObject(text, shapes)
  if (scan.kind === 'uncertain' && scan.members !== undefined) {
    text = unambiguous(text, scan.members)
    shapes = shapesOf()
    scan = scanObject(text, shapes)
  }
  if (scan.kind === 'other') throw refuse('invalid_request', { message: 'The body must be a JSON object.' })
  if (scan.kind === 'invalid') {
    throw refuse('invalid_json', { message: `The body is not valid JSON in UTF-8, at byte ${scan.at}.` })
  }
  // What is still escaped in a key needs it, as a quote does; each key is there once.
  const { members } = scan
  if (members === undefined) {
    throw refuse('invalid_request', { message: 'The body is nested too deeply, or has too many fields.' })
  }
  return { text, members, shapes }
}

/** A chat request that has been checked. */
export class ChatRequest implements CallerRequest, Wording {
  readonly format = chatFormat
  readonly isOwn = false
  /** The body's length as it came. */
  readonly bytes: number
  /** Data embedded in the messages, for the hold's estimate. */
  readonly embedded: Embedded
  readonly model: string
  readonly stream: boolean
  /** The caller asks for the usage in the stream. */
  readonly includeUsage: boolean
  /** How many results are asked for; 1 when the caller does not say. */
  readonly n: number
  /** The caller's maximum of output tokens; of two, the smaller; null without. */
  readonly maxOutputTokens: number | null
  /** The name that this maximum came under. */
  readonly maxOutputField: OutputMaximumField | null
  /** The body: as it came, or written again when it was ambiguous. */
  readonly body: Buffer
  readonly #thinking: readonly Span[] | undefined
  readonly #members: readonly JsonMember[]
  readonly #fields: RequestFields
  #parsed: Readonly<Record<string, unknown>> | undefined

  constructor(
    body: Buffer,
    members: readonly JsonMember[],
    fields: RequestFields,
    size: Pick<MessageShapes, 'embedded' | 'thinking'> & { readonly bytes: number },
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

  /** The whole request as an object, parsed at the first call and shared by all: not to be changed. */
  parsed(): Readonly<Record<string, unknown>> {
    this.#parsed ??= JSON.parse(this.body.toString()) as Record<string, unknown>
    return this.#parsed
  }

  inputTokens(): number {
    return inputEstimateForCharge(this.parsed())
  }

  wordingFor(_provider: Provider): Wording {
    return this
  }

  words(meter: Meter): StreamWords {
    return new ChatWords(this.includeUsage, meter)
  }

  /** The body for an upstream: pieces to write one after another, most of them views of the caller's bytes. */
  spliced(edits: BodyEdits): Buffer[] {
    const changes = new Map<string, string>()
    for (const [key, value] of Object.entries(edits.extra ?? {})) {
      if (value !== undefined) changes.set(key, JSON.stringify(value))
    }
    changes.set('model', JSON.stringify(edits.model))
    if (this.#thinking && !edits.takesSignedThinking) this.#dropSignedThinking(changes, this.#thinking)
    if (edits.maximum !== undefined) this.#limit(changes, edits.maximum.tokens, edits.maximum.field)
    if (this.stream && !edits.withoutStreamOptions) {
      const { include_usage: _, ...options } = this.#fields.streamOptions
      changes.set('stream_options', JSON.stringify({ ...options, include_usage: true }))
    }
    return splice(
      this.body,
      this.#members,
      changes,
      edits.withoutStreamOptions ? 'stream_options' : undefined,
    )
  }

  /** What another dialect's provider has signed is left out; all else stays as it is written. */
  #dropSignedThinking(changes: Map<string, string>, lists: readonly Span[]): void {
    const messages = this.#members.find(({ key }) => key === 'messages') as JsonMember
    let text = ''
    let from = messages.start
    for (const { start, end } of lists) {
      const details = JSON.parse(this.body.toString('utf8', start, end)) as unknown[]
      const own = detailsForChat(details)
      if (own.length === details.length) continue
      text += this.body.toString('utf8', from, start) + JSON.stringify(own)
      from = end
    }
    if (text !== '') changes.set('messages', text + this.body.toString('utf8', from, messages.end))
  }

  #limit(changes: Map<string, string>, tokens: number, field: string): void {
    if (this.maxOutputField === null) changes.set(field, String(tokens))
    for (const [name, given] of Object.entries(this.#fields.maximums)) {
      if (given !== undefined && given > tokens) changes.set(name, String(tokens))
    }
  }
}

/**
 * The text with members replaced or added (at its end), and one left out.
 * @param changes JSON texts by key
 */
export function splice(
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
      // With the comma behind it, or as the last one with the comma before.
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
 * The same object without what readers could differ about: each key once, the last value counting (as for
 * JSON.parse), and no escapes in keys that need none. Values stay as they are written.
 */
function unambiguous(text: Buffer, members: readonly JsonMember[]): Buffer {
  const last = new Map(members.map((member) => [member.key, member]))
  const pieces: Buffer[] = []
  for (const [key, { start, end }] of last) {
    const before = `${pieces.length === 0 ? '{' : ','}${JSON.stringify(key)}:`
    pieces.push(Buffer.from(before), text.subarray(start, end))
  }
  return Buffer.concat([...pieces, Buffer.from('}')])
}
