/** Encodes requests in Anthropic's format for providers, and the providers' responses for the caller. */
import { translateChatResponse, type ResponseContext } from '../../formats/messages-response.ts'
import { MessagesPassthrough } from '../../formats/messages-passthrough.ts'
import { translateMessagesRequest } from '../../formats/messages-request.ts'
import { MessagesStreamEncoder } from '../../formats/messages-stream.ts'
import { capabilitiesOf } from '../../formats/provider-capabilities.ts'
import type { SseEvent } from '../../lib/sse/sse-event.ts'
import { hintsRejectedBy } from '../../providers/openai/openai-models.ts'
import type { BodyEdits, Chunk, NativeRequest, Provider } from '../../providers/provider.ts'
import { withoutHints } from '../../providers/request-hints.ts'
import type { StreamConclusion, StreamEncoder, RequestEncoding } from './caller-format.ts'
import type { ChunkFacts, UsageMeter } from '../streaming/usage-meter.ts'

type Json = Readonly<Record<string, unknown>>

/** The caller's request. */
interface MessagesSource {
  readonly stream: boolean
  readonly maxOutputTokens: number
  inputTokens(): number
  parsed(): Json
}

/** For a provider that has Anthropic's format: nothing is translated. */
export class PassthroughMessagesEncoding implements RequestEncoding {
  readonly isPassthrough = true
  readonly stream: boolean
  readonly maxOutputField = 'max_tokens'
  readonly native: NativeRequest
  readonly #source: MessagesSource

  constructor(source: MessagesSource, native: NativeRequest) {
    this.stream = source.stream
    this.native = native
    this.#source = source
  }

  encode({ model, maximum }: BodyEdits): Buffer[] {
    return this.native.encode({ model, maximumTokens: maximum?.tokens ?? null })
  }

  parsed(): Json {
    return this.#source.parsed()
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new PassthroughStreamEncoder(meter)
  }
}

class PassthroughStreamEncoder implements StreamEncoder {
  readonly #passthrough: MessagesPassthrough

  constructor(meter: UsageMeter) {
    this.#passthrough = new MessagesPassthrough(meter)
  }

  encode(_chunk: unknown, _facts: ChunkFacts, event: SseEvent | null): Buffer | null {
    return event && this.#passthrough.encode(event)
  }

  finalEvents(conclusion: StreamConclusion): Buffer[] {
    return this.#passthrough.finalEvents(conclusion)
  }
}

/** For any other provider: translated to and from the OpenAI format. */
export class TranslatedMessagesEncoding implements RequestEncoding {
  readonly isPassthrough = false
  readonly stream: boolean
  readonly maxOutputField = null
  readonly callerMaximumTokens: number
  readonly #source: MessagesSource
  readonly #provider: Provider
  #chat: Json | undefined

  constructor(source: MessagesSource, provider: Provider) {
    this.stream = source.stream
    this.callerMaximumTokens = source.maxOutputTokens
    this.#source = source
    this.#provider = provider
  }

  /** Throws `UnsupportedFeatureError` for features that only Anthropic has. */
  parsed(): Json {
    this.#chat ??= translateMessagesRequest(this.#source.parsed(), capabilitiesOf(this.#provider))
    return this.#chat
  }

  encode({ model, maximum, withoutFields, extra }: BodyEdits): Buffer[] {
    const known = withoutHints(this.parsed(), hintsRejectedBy(model))
    const { max_tokens: _unnamed, ...chat } = withoutHints(known, withoutFields)
    const tokens = Math.min(maximum?.tokens ?? Infinity, this.callerMaximumTokens)
    const options =
      this.stream && !withoutFields?.has('stream_options') ? { stream_options: { include_usage: true } } : {}
    const body = { ...chat, ...extra, model, ...options, [maximum?.field ?? 'max_tokens']: tokens }
    return [Buffer.from(JSON.stringify(body))]
  }

  encodeResponse(response: Chunk): Json {
    return translateChatResponse(response, this.#context)
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new MessagesStreamEncoder(this.#context, meter)
  }

  get #context(): ResponseContext {
    const source = this.#source
    return {
      provider: this.#provider.name,
      request: source.parsed(),
      inputTokens: () => source.inputTokens(),
    }
  }
}
