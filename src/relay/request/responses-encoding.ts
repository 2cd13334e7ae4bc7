/** Encodes requests of the Responses API for providers, and the responses for the caller. */
import { addHolder, isHeld } from '../../formats/encrypted-content.ts'
import { capabilitiesOf } from '../../formats/provider-capabilities.ts'
import type { ResponsesContext } from '../../formats/responses-object.ts'
import { translateResponsesRequest } from '../../formats/responses-request.ts'
import { translateToResponse } from '../../formats/responses-response.ts'
import { ResponsesStreamEncoder } from '../../formats/responses-stream.ts'
import { ResponsesPassthrough } from '../../formats/responses-passthrough.ts'
import { getObject, type Json } from '../../providers/json-fields.ts'
import type { Chunk, UpstreamCall } from '../../providers/provider.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { StreamEncoder } from './caller-format.ts'
import { NativeCollector } from './native-collector.ts'
import { PassthroughEncoding } from './passthrough-encoding.ts'
import { TranslatedEncoding } from './translated-encoding.ts'

/** The whole response is in the last event. */
class LastResponse {
  #response: Json = {}

  add(event: Json): void {
    this.#response = getObject(event, 'response') ?? this.#response
  }

  response(): Json {
    return this.#response
  }
}

/** A response whose `encrypted_content` names its holder. */
export function addHolderTo(bytes: Buffer, { holder = '' }: Pick<UpstreamCall, 'holder'>): Buffer {
  return isHeld(bytes) ? Buffer.from(addHolder(bytes.toString(), holder)) : bytes
}

/** For an upstream that speaks the Responses API: nothing is translated. */
export class PassthroughResponsesEncoding extends PassthroughEncoding {
  readonly maxOutputField = 'max_output_tokens'

  streamEncoder(meter: UsageMeter, { holder = '', maxStreamTokens = Infinity }: UpstreamCall): StreamEncoder {
    const mayBeCut = maxStreamTokens < Infinity
    return new ResponsesPassthrough(this.native.parsed(), meter, { holder, mayBeCut })
  }

  collector({ holder = '' }: UpstreamCall): StreamEncoder {
    return new NativeCollector(new LastResponse(), (text) => addHolder(text, holder))
  }

  rewrite(bytes: Buffer, _json: unknown, call: UpstreamCall): Buffer {
    return addHolderTo(bytes, call)
  }
}

/** For any other upstream: translated to and from the OpenAI format. */
export class TranslatedResponsesEncoding extends TranslatedEncoding {
  protected translate(): Json {
    return translateResponsesRequest(this.request.parsed(), capabilitiesOf(this.provider))
  }

  encodeResponse(response: Chunk): Json {
    return translateToResponse(response, this.context)
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new ResponsesStreamEncoder(this.context, meter)
  }

  protected get context(): ResponsesContext {
    return { provider: this.provider.name, request: this.request.parsed() }
  }
}
