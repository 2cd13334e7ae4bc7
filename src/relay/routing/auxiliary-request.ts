/**
 * Small requests to a provider besides those of callers, such as for an access token or the list of models. The
 * response is buffered, and limited in size and time.
 */
import type { LiveUpstream } from '../../catalog/catalog.ts'
import { decodeBuffered } from '../../lib/http-client/content-encoding.ts'
import {
  encodeHeaders,
  type ConnectionFailure,
  type ResponseHandler,
  type ResponseHeaders,
  type HttpClient,
} from '../../lib/http-client/http-client.ts'
import type { OutgoingRequest } from '../../providers/provider.ts'
import { parseUpstreamUrl, UpstreamCallError, upstreamErrorFromConnection } from './upstream-transport.ts'
import { upstreamError, type UpstreamError } from './upstream-error.ts'

interface AuxiliaryRequest extends OutgoingRequest {
  readonly method: 'GET' | 'POST'
  /** A longer response is truncated. */
  readonly maxBytes: number
}

export interface AuxiliaryResponse {
  readonly status: number
  readonly bytes: Buffer
  readonly retryAfter: string | null
}

const responseTimeoutMs = 30_000

/** Rejects with UpstreamCallError if there is no response; throws TypeError for a URL or header that cannot be sent. */
export async function sendAuxiliaryRequest(
  client: HttpClient,
  { url, headers: fields, method, body, maxBytes }: AuxiliaryRequest,
  { timeouts, proxy }: Pick<LiveUpstream, 'timeouts' | 'proxy'>,
): Promise<AuxiliaryResponse> {
  const { origin, path } = parseUpstreamUrl(url, proxy)
  const headers = encodeHeaders(fields)
  const connectTimeoutMs = timeouts.connectMs
  const collector = new ResponseCollector(maxBytes)
  const exchange = client.send({ origin, method, path, headers, body, connectTimeoutMs }, collector)
  const timer = setTimeout(() => {
    exchange.destroy()
    collector.fail(upstreamError('timeout', 'The provider did not respond in time.'))
  }, responseTimeoutMs)
  try {
    return await collector.response
  } finally {
    clearTimeout(timer)
  }
}

class ResponseCollector implements ResponseHandler {
  readonly response: Promise<AuxiliaryResponse>
  readonly #resolve: (collector: AuxiliaryResponse) => void
  readonly #reject: (error: UpstreamCallError) => void
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status = 0
  #retryAfter: string | null = null
  #encoding: string | null = null

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    const { promise, resolve, reject } = Promise.withResolvers<AuxiliaryResponse>()
    this.response = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  fail(error: UpstreamError): void {
    this.#reject(new UpstreamCallError(error))
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#status = status
    this.#retryAfter = headers.get('retry-after')
    this.#encoding = headers.get('content-encoding')
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= this.#maxBytes) this.#chunks.push(Buffer.from(chunk))
  }

  onEnd(): void {
    const received = Buffer.concat(this.#chunks)
    const decoded =
      this.#encoding === null ? received : decodeBuffered(this.#encoding, received, this.#maxBytes)
    Promise.resolve(decoded).then(
      (bytes) => this.#resolve({ status: this.#status, bytes, retryAfter: this.#retryAfter }),
      () => this.fail(upstreamError('garbage', 'The response of the provider could not be decoded.')),
    )
  }

  onFail(failure: ConnectionFailure): void {
    this.fail(upstreamErrorFromConnection(failure))
  }
}
