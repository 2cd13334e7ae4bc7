/**
 * Asks for a stream and collects it into the response of a request that wants none, so that the time-outs, marks and
 * failover of streams apply (an upstream's `collect_stream`).
 */
import { ChunkCollector } from '../../providers/chunk-collector.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import type { BodyEdits, Chunk, NativeRequest, Provider, UpstreamCall } from '../../providers/provider.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { CallerRequest, RequestEncoding, StreamEncoder } from './caller-format.ts'

const asStream = { stream: true }
const withUsage = { ...asStream, stream_options: { include_usage: true } }

/** Of a stream in the OpenAI format, into which all others but those that pass through are translated. */
class ChatCollector implements StreamEncoder {
  readonly #chunks = new ChunkCollector()
  readonly #request: RequestEncoding

  constructor(request: RequestEncoding) {
    this.#request = request
  }

  encode(chunk: unknown): null {
    if (isObject(chunk)) this.#chunks.add(chunk)
    return null
  }

  collected(): Json {
    const response = this.#chunks.completion()
    return this.#request.encodeResponse?.(response) ?? response
  }

  finalEvents(): Buffer[] {
    return []
  }
}

export class CollectedEncoding implements RequestEncoding {
  readonly stream = true
  readonly isCollected = true
  readonly isPassthrough: boolean
  readonly maxOutputField: string | null
  readonly callerMaximumTokens?: number
  readonly native?: NativeRequest
  readonly #request: RequestEncoding

  /** `request`: the one that wants no stream. */
  constructor(request: RequestEncoding) {
    const { native, callerMaximumTokens } = request
    this.#request = request
    this.isPassthrough = request.isPassthrough
    this.maxOutputField = request.maxOutputField
    if (callerMaximumTokens !== undefined) this.callerMaximumTokens = callerMaximumTokens
    if (native) {
      const { headers } = native
      this.native = {
        headers,
        encode: (edits) => native.encode({ ...edits, extra: { ...edits.extra, ...asStream } }),
      }
    }
  }

  encode(edits: BodyEdits): Buffer[] {
    const hasNoOptions = edits.withoutFields?.has('stream_options') ?? false
    const extra = { ...edits.extra, ...(hasNoOptions ? asStream : withUsage) }
    return this.#request.encode({ ...edits, extra })
  }

  parsed(): Json {
    return this.#request.parsed()
  }

  encodeResponse(response: Chunk): Json {
    return this.#request.encodeResponse?.(response) ?? response
  }

  streamEncoder(_meter: UsageMeter, call: UpstreamCall): StreamEncoder {
    return this.#request.collector?.(call) ?? new ChatCollector(this.#request)
  }
}

/** Can a stream be collected into its response? */
export function canCollect(encoding: RequestEncoding): boolean {
  return !encoding.isPassthrough || encoding.collector !== undefined
}

/** The encoding for an upstream that may be set to `collectStream`, or lack what the usual encoding needs. */
export function encodingFor(
  request: Pick<CallerRequest, 'stream' | 'encodingFor'>,
  provider: Provider,
  {
    settings: { collectStream },
    maximumTokens,
    withoutFields,
  }: Pick<UpstreamCall, 'settings' | 'maximumTokens' | 'withoutFields'>,
): RequestEncoding {
  const first = request.encodingFor(provider)
  const { lacked = '', encoding: other = first } = first.otherwise ?? {}
  const isLacked = withoutFields?.has(lacked) === true || (lacked === 'path' && maximumTokens !== null)
  const encoding = isLacked ? other : first
  return collectStream && !request.stream && canCollect(encoding) ? new CollectedEncoding(encoding) : encoding
}
