/** How a request of Anthropic's format is put to upstreams, and how their answers come back. */
import { messageOfChat, type AnswerTerms } from '../formats/messages-answer.ts'
import { MessagesPassing } from '../formats/messages-passing.ts'
import { chatOfMessages } from '../formats/messages-request.ts'
import { MessagesStream } from '../formats/messages-stream.ts'
import { tasteOf } from '../formats/provider-tastes.ts'
import type { ServerEvent } from '../lib/sse/sse-event.ts'
import type { BodyEdits, Chunk, OwnRequest, Provider } from '../providers/provider.ts'
import type { Conclusion, StreamWords, Wording } from './caller-format.ts'
import type { ChunkFacts, Meter } from './streaming/usage-meter.ts'

type Json = Readonly<Record<string, unknown>>

/** The caller's request. */
interface Asked {
  readonly stream: boolean
  readonly maxOutputTokens: number
  parsed(): Json
}

/** To an upstream of the caller's own dialect: nothing is translated. */
export class OwnMessages implements Wording {
  readonly isOwn = true
  readonly stream: boolean
  readonly maxOutputField = 'max_tokens'
  readonly own: OwnRequest
  readonly #asked: Asked

  constructor(asked: Asked, own: OwnRequest) {
    this.stream = asked.stream
    this.own = own
    this.#asked = asked
  }

  spliced({ model, maximum }: BodyEdits): Buffer[] {
    return this.own.spliced({ model, maximumTokens: maximum?.tokens ?? null })
  }

  parsed(): Json {
    return this.#asked.parsed()
  }

  words(meter: Meter): StreamWords {
    return new OwnWords(meter)
  }
}

class OwnWords implements StreamWords {
  readonly #passing: MessagesPassing

  constructor(meter: Meter) {
    this.#passing = new MessagesPassing(meter)
  }

  take(_chunk: unknown, _facts: ChunkFacts, event: ServerEvent | null): Buffer | null {
    return event && this.#passing.take(event)
  }

  conclude(conclusion: Conclusion): Buffer[] {
    return this.#passing.conclude(conclusion)
  }
}

/** To any other upstream: by way of the common format. */
export class TranslatedMessages implements Wording {
  readonly isOwn = false
  readonly stream: boolean
  readonly maxOutputField = null
  readonly unnamedMaximum: number
  readonly #asked: Asked
  readonly #provider: Provider
  #chat: Json | undefined

  constructor(asked: Asked, provider: Provider) {
    this.stream = asked.stream
    this.unnamedMaximum = asked.maxOutputTokens
    this.#asked = asked
    this.#provider = provider
  }

  /** Throws `Inexpressible` for what only Anthropic knows. */
  parsed(): Json {
    this.#chat ??= chatOfMessages(this.#asked.parsed(), tasteOf(this.#provider))
    return this.#chat
  }

  spliced({ model, maximum, withoutStreamOptions, extra }: BodyEdits): Buffer[] {
    const { max_tokens: _unnamed, ...chat } = this.parsed()
    const tokens = Math.min(maximum?.tokens ?? Infinity, this.unnamedMaximum)
    const options = this.stream && !withoutStreamOptions ? { stream_options: { include_usage: true } } : {}
    const body = { ...chat, ...extra, model, ...options, [maximum?.field ?? 'max_tokens']: tokens }
    return [Buffer.from(JSON.stringify(body))]
  }

  whole(answer: Chunk): Json {
    return messageOfChat(answer, this.#terms)
  }

  words(meter: Meter): StreamWords {
    return new MessagesStream(this.#terms, meter)
  }

  get #terms(): AnswerTerms {
    const stops = this.#asked.parsed()['stop_sequences']
    const words = Array.isArray(stops) ? stops.filter((each) => typeof each === 'string') : []
    return { provider: this.#provider.name, stops: words }
  }
}
