/** Encodes requests of the Responses API for providers, in the OpenAI format, and the responses for the caller. */
import { capabilitiesOf } from '../../formats/provider-capabilities.ts'
import type { ResponsesContext } from '../../formats/responses-object.ts'
import { translateResponsesRequest } from '../../formats/responses-request.ts'
import { translateToResponse } from '../../formats/responses-response.ts'
import { ResponsesStreamEncoder } from '../../formats/responses-stream.ts'
import type { Json } from '../../providers/json-fields.ts'
import type { Chunk } from '../../providers/provider.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { StreamEncoder } from './caller-format.ts'
import { TranslatedEncoding } from './translated-encoding.ts'

export class TranslatedResponsesEncoding extends TranslatedEncoding {
  protected translate(): Json {
    return translateResponsesRequest(this.request.parsed(), capabilitiesOf(this.provider))
  }

  encodeResponse(response: Chunk): Json {
    return translateToResponse(response, this.#context)
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new ResponsesStreamEncoder(this.#context, meter)
  }

  get #context(): ResponsesContext {
    return { provider: this.provider.name, request: this.request.parsed() }
  }
}
