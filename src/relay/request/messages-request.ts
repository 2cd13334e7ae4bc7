/**
 * A request of Anthropic's format (`POST /v1/messages`), read once from its bytes and checked where the relay itself
 * depends on it. To upstreams of that dialect it goes as it came, to others in the common format.
 */
import { refuse } from '../../errors.ts'
import { messagesErrorEvent } from '../../formats/messages-error.ts'
import { ping } from '../../formats/messages-events.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import type { OwnRequest, Provider } from '../../providers/provider.ts'
import type { CallerFormat, CallerRequest, Wording } from '../caller-format.ts'
import type { Embedded } from './token-estimate.ts'
import { MessageShapes } from './message-scanner.ts'
import { messagesInputEstimate } from './messages-token-estimate.ts'
import { OwnMessages, TranslatedMessages } from '../messages-wording.ts'
import { ownMessages } from './messages-body.ts'
import { readBody } from './request-body.ts'
import { assertNoLookalike, flagOf, modelOf, numberOf, wrongModel } from './request-fields.ts'

type Json = Readonly<Record<string, unknown>>

export const messagesFormat: CallerFormat = { keepAlive: ping, errorEvent: messagesErrorEvent }

/** What the relay reads; the rest is the provider's to judge. */
const known = new Set(['model', 'max_tokens', 'messages', 'stream', 'thinking'])
const nullByte = 0x6e

/** Headers of a caller that belong to the format. */
export interface MessagesHeaders {
  readonly version: string | undefined
  readonly beta: string | undefined
}

const usualVersion = '2023-06-01'

function headersOf({ version, beta }: MessagesHeaders): [name: string, value: string][] {
  const versioned: [string, string] = ['anthropic-version', version ?? usualVersion]
  return beta === undefined ? [versioned] : [versioned, ['anthropic-beta', beta]]
}

/** `forCount`: only the tokens of the request are asked for, so it needs no maximum and is no stream. */
export interface MessagesManner {
  readonly headers: MessagesHeaders
  readonly forCount: boolean
}

/** Throws `invalid_json`, or `invalid_request` with the field in `param`. */
export function readMessagesRequest(body: Buffer, manner: MessagesManner): MessagesRequest {
  const { text, members, shapes } = readBody(body, () => new MessageShapes({ knownDataOnly: true }))
  const fields = fieldsOf(text, members, manner.forCount)
  shapes.check()
  const size = { bytes: body.length, embedded: shapes.embedded }
  return new MessagesRequest({ text, members, headers: headersOf(manner.headers), ...fields, ...size })
}

interface Fields {
  readonly model: string
  readonly stream: boolean
  readonly maxTokens: number
}

function fieldsOf(body: Buffer, members: readonly JsonMember[], forCount: boolean): Fields {
  let model: string | undefined
  let stream = false
  let maxTokens: number | undefined
  for (const member of members) {
    const { key } = member
    if (!known.has(key)) assertNoLookalike(key, known)
    else if (body[member.start] === nullByte) continue
    else if (key === 'model') model = modelOf(body, member)
    else if (key === 'stream') stream = flagOf(body, member)
    else if (key === 'max_tokens') maxTokens = numberOf(body, member)
  }
  if (model === undefined) throw wrongModel()
  if (maxTokens === undefined && !forCount) {
    throw refuse('invalid_request', {
      param: 'max_tokens',
      message: 'max_tokens is required: an integer from 1.',
    })
  }
  return { model, stream: stream && !forCount, maxTokens: maxTokens ?? 1 }
}

interface MessagesParts extends Fields {
  readonly text: Buffer
  readonly members: readonly JsonMember[]
  readonly headers: OwnRequest['headers']
  readonly bytes: number
  readonly embedded: Embedded
}

export class MessagesRequest implements CallerRequest {
  readonly format = messagesFormat
  readonly bytes: number
  readonly embedded: Embedded
  readonly model: string
  readonly stream: boolean
  readonly n = 1
  readonly maxOutputTokens: number
  readonly #parts: MessagesParts
  #parsed: Json | undefined

  constructor(parts: MessagesParts) {
    this.bytes = parts.bytes
    this.embedded = parts.embedded
    this.model = parts.model
    this.stream = parts.stream
    this.maxOutputTokens = parts.maxTokens
    this.#parts = parts
  }

  /** The request as an object, parsed at the first call: not to be changed. */
  parsed(): Json {
    this.#parsed ??= JSON.parse(this.#parts.text.toString()) as Json
    return this.#parsed
  }

  inputTokens(): number {
    return messagesInputEstimate(this.parsed())
  }

  wordingFor(provider: Provider): Wording {
    if (provider.speaks !== 'messages') return new TranslatedMessages(this, provider)
    const { text, members, headers } = this.#parts
    const asked = { text, members, maxTokens: this.maxOutputTokens, parsed: () => this.parsed() }
    return new OwnMessages(this, { headers, spliced: (edits) => ownMessages(asked, edits) })
  }
}
