/**
 * Small requests to a provider besides those of callers, such as for an access token or the list of models. The
 * response is buffered, and limited in size and time.
 */
import type { LiveUpstream } from '../../catalog/catalog.ts'
import { decodeBuffered } from '../../lib/http-client/content-encoding.ts'
import { encodeHeaders, type HttpClient } from '../../lib/http-client/http-client.ts'
import type { OutgoingRequest } from '../../providers/provider.ts'
import { parseUpstreamUrl, UpstreamCallError, upstreamErrorFromConnection } from './upstream-transport.ts'
import { upstreamError, type UpstreamError } from './upstream-error.ts'

interface AuxiliaryRequest extends OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
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
  const { promise: received, resolve, reject } = Promise.withResolvers<void>()
  const fail = (error: UpstreamError): void => reject(new UpstreamCallError(error))
  const chunks: Buffer[] = []
  let bytes = 0
  let status = 0
  let retryAfter: string | null = null
  let encoding: string | null = null
  const exchange = client.send(
    { origin, method, path, headers, body, connectTimeoutMs },
    {
      onHead(code, head) {
        status = code
        retryAfter = head.get('retry-after')
        encoding = head.get('content-encoding')
      },
      onData(chunk) {
        bytes += chunk.length
        if (bytes <= maxBytes) chunks.push(Buffer.from(chunk))
      },
      onEnd: resolve,
      onFail: (failure) => fail(upstreamErrorFromConnection(failure)),
    },
  )
  const timer = setTimeout(() => {
    exchange.destroy()
    fail(upstreamError('timeout', 'The provider did not respond in time.'))
  }, responseTimeoutMs)
  try {
    await received
    return { status, bytes: await decode(Buffer.concat(chunks), encoding, maxBytes), retryAfter }
  } finally {
    clearTimeout(timer)
  }
}

async function decode(bytes: Buffer, encoding: string | null, maxBytes: number): Promise<Buffer> {
  try {
    return encoding === null ? bytes : await decodeBuffered(encoding, bytes, maxBytes)
  } catch {
    throw new UpstreamCallError(
      upstreamError('garbage', 'The response of the provider could not be decoded.'),
    )
  }
}
