/** Encodes requests in Anthropic's format for providers, and the providers' responses for the caller. */
import { translateChatResponse, type ResponseContext } from '../../formats/messages-response.ts'
import { MessagesPassthrough } from '../../formats/messages-passthrough.ts'
import { translateMessagesRequest } from '../../formats/messages-request.ts'
import { MessagesStreamEncoder } from '../../formats/messages-stream.ts'
import { capabilitiesOf } from '../../formats/provider-capabilities.ts'
import type { Json } from '../../providers/json-fields.ts'
import { hintsRejectedBy } from '../../providers/openai/openai-models.ts'
import type { BodyEdits, Chunk, NativeRequest, Provider } from '../../providers/provider.ts'
import { withoutHints } from '../../providers/request-hints.ts'
import type { CallerRequest, StreamEncoder, RequestEncoding } from './caller-format.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'

type MessagesSource = CallerRequest & NativeRequest & { readonly maxOutputTokens: number }

/** For a provider that has Anthropic's format: nothing is translated. */
export class PassthroughMessagesEncoding implements RequestEncoding {
  readonly isPassthrough = true
  readonly stream: boolean
  readonly maxOutputField = 'max_tokens'
  readonly native: MessagesSource

  constructor(request: MessagesSource) {
    this.stream = request.stream
    this.native = request
  }

  encode({ model, maximum }: BodyEdits): Buffer[] {
    return this.native.encode({ model, maximumTokens: maximum?.tokens ?? null })
  }

  parsed(): Json {
    return this.native.parsed()
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new MessagesPassthrough(meter)
  }
}

/** For any other provider: translated to and from the OpenAI format. */
export class TranslatedMessagesEncoding implements RequestEncoding {
  readonly isPassthrough = false
  readonly stream: boolean
  readonly maxOutputField = null
  readonly callerMaximumTokens: number
  readonly #request: MessagesSource
  readonly #provider: Provider
  #chat: Json | undefined

  constructor(request: MessagesSource, provider: Provider) {
    this.stream = request.stream
    this.callerMaximumTokens = request.maxOutputTokens
    this.#request = request
    this.#provider = provider
  }

  /** Throws `UnsupportedFeatureError` for features that only Anthropic has. */
  parsed(): Json {
    this.#chat ??= translateMessagesRequest(this.#request.parsed(), capabilitiesOf(this.#provider))
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
    const request = this.#request
    return {
      provider: this.#provider.name,
      request: request.parsed(),
      inputTokens: () => request.inputTokens(),
    }
  }
}
