/** Encodes a request in another API format as one in the OpenAI format, which providers then translate further. */
import type { Json } from '../../providers/json-fields.ts'
import { hintsRejectedBy } from '../../providers/openai/openai-models.ts'
import type { BodyEdits, Chunk, Provider } from '../../providers/provider.ts'
import { withoutHints } from '../../providers/request-hints.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { CallerRequest, RequestEncoding, StreamEncoder } from './caller-format.ts'

export abstract class TranslatedEncoding implements RequestEncoding {
  readonly isPassthrough = false
  readonly stream: boolean
  readonly maxOutputField = null
  readonly callerMaximumTokens?: number
  protected readonly request: CallerRequest
  protected readonly provider: Provider
  #chat: Json | undefined

  constructor(request: CallerRequest, provider: Provider) {
    this.stream = request.stream
    if (request.maxOutputTokens !== null) this.callerMaximumTokens = request.maxOutputTokens
    this.request = request
    this.provider = provider
  }

  /** Throws `UnsupportedFeatureError` for features that the provider does not have. */
  protected abstract translate(): Json

  abstract encodeResponse(response: Chunk): Json

  abstract streamEncoder(meter: UsageMeter): StreamEncoder

  /** Throws as `translate`. */
  parsed(): Json {
    this.#chat ??= this.translate()
    return this.#chat
  }

  encode({ model, maximum, withoutFields, extra }: BodyEdits): Buffer[] {
    const known = withoutHints(this.parsed(), hintsRejectedBy(model))
    const { max_tokens: _unnamed, ...chat } = withoutHints(known, withoutFields)
    const tokens = Math.min(maximum?.tokens ?? Infinity, this.callerMaximumTokens ?? Infinity)
    const options =
      this.stream && !withoutFields?.has('stream_options') ? { stream_options: { include_usage: true } } : {}
    const limit = tokens === Infinity ? {} : { [maximum?.field ?? 'max_tokens']: tokens }
    return [Buffer.from(JSON.stringify({ ...chat, ...extra, model, ...options, ...limit }))]
  }
}
