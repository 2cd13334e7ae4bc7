/** The encoding for a provider that has the caller's own format: nothing is translated. */
import type { Json } from '../../providers/json-fields.ts'
import type { BodyEdits, NativeRequest, UpstreamCall } from '../../providers/provider.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { CallerRequest, RequestEncoding, StreamEncoder } from './caller-format.ts'

export abstract class PassthroughEncoding implements RequestEncoding {
  readonly isPassthrough = true
  abstract readonly maxOutputField: string | null
  readonly stream: boolean
  readonly native: CallerRequest & NativeRequest

  constructor(request: CallerRequest & NativeRequest) {
    this.stream = request.stream
    this.native = request
  }

  encode({ model, maximum }: BodyEdits): Buffer[] {
    return this.native.encode({ model, maximumTokens: maximum?.tokens ?? null })
  }

  parsed(): Json {
    return this.native.parsed()
  }

  abstract streamEncoder(meter: UsageMeter, call: UpstreamCall): StreamEncoder
}
