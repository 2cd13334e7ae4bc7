/** Encodes requests in Anthropic's format for providers, and the providers' responses for the caller. */
import { translateChatResponse, type ResponseContext } from '../../formats/messages-response.ts'
import { MessagesCollector } from '../../formats/messages-collector.ts'
import { MessagesPassthrough } from '../../formats/messages-passthrough.ts'
import { translateMessagesRequest } from '../../formats/messages-request.ts'
import { MessagesStreamEncoder } from '../../formats/messages-stream.ts'
import { capabilitiesOf } from '../../formats/provider-capabilities.ts'
import type { Json } from '../../providers/json-fields.ts'
import type { Chunk } from '../../providers/provider.ts'
import type { StreamEncoder } from './caller-format.ts'
import { PassthroughEncoding } from './passthrough-encoding.ts'
import { TranslatedEncoding } from './translated-encoding.ts'
import { NativeCollector } from './native-collector.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'

/** For a provider that has Anthropic's format: nothing is translated. */
export class PassthroughMessagesEncoding extends PassthroughEncoding {
  readonly maxOutputField = 'max_tokens'

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new MessagesPassthrough(meter)
  }

  collector(): StreamEncoder {
    return new NativeCollector(new MessagesCollector())
  }
}

/** For any other provider: translated to and from the OpenAI format. */
export class TranslatedMessagesEncoding extends TranslatedEncoding {
  protected translate(): Json {
    return translateMessagesRequest(this.request.parsed(), capabilitiesOf(this.provider))
  }

  encodeResponse(response: Chunk): Json {
    return translateChatResponse(response, this.#context)
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    return new MessagesStreamEncoder(this.#context, meter)
  }

  get #context(): ResponseContext {
    const { request } = this
    return {
      provider: this.provider.name,
      request: request.parsed(),
      inputTokens: () => request.inputTokens(),
    }
  }
}
