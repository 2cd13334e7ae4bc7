/** How upstreams are reached: parses their URLs, and turns failures to send or receive into upstream errors. */
import { parseOrigin, type ConnectionFailure, type Origin } from '../../lib/http-client/http-client.ts'
import { parseProxy } from '../../lib/http-client/proxy.ts'
import { UnsupportedFeatureError } from '../../providers/provider.ts'
import { upstreamError, type UpstreamError } from './upstream-error.ts'

/** URLs are few and repeat; parsing one costs more than looking it up. */
const parsedUrls = new Map<string, { readonly origin: Origin; readonly path: string }>()
const maxParsedUrls = 1000

/**
 * The origin, reached through the proxy if there is one, and the path. Throws TypeError for a URL that cannot be
 * called.
 */
export function parseUpstreamUrl(
  url: string,
  proxy: string | null,
): { readonly origin: Origin; readonly path: string } {
  const key = proxy === null ? url : `${url} ${proxy}`
  const known = parsedUrls.get(key)
  if (known) return known
  const { pathname, search } = new URL(url)
  const parsed = {
    origin: parseOrigin(url, proxy === null ? null : parseProxy(proxy)),
    path: pathname + search,
  }
  if (parsedUrls.size >= maxParsedUrls) parsedUrls.clear()
  parsedUrls.set(key, parsed)
  return parsed
}

/** The connection failed. */
export function upstreamErrorFromConnection(failure: ConnectionFailure): UpstreamError {
  switch (failure.kind) {
    case 'forbidden_address':
      return upstreamError('forbidden', 'The address of the upstream is not allowed.')
    case 'timeout':
      return upstreamError('timeout', 'The upstream could not be reached in time.')
    case 'malformed':
      return upstreamError('garbage', 'The upstream did not send a valid HTTP response.')
    case 'proxy':
      return upstreamError('connection', `The proxy could not reach the upstream: ${failure.message}.`)
    default:
      return upstreamError('connection', `The connection to the upstream failed (${failure.kind}).`)
  }
}

/** The request could not be built, or its URL could not be called. */
export function upstreamErrorFromException(error: unknown): UpstreamError {
  if (error instanceof UpstreamCallError) return error.upstreamError
  if (error instanceof UnsupportedFeatureError) {
    return { ...upstreamError('unsupported', error.message, 400), param: error.param }
  }
  // The address or the credential cannot be sent: the upstream is misconfigured.
  return upstreamError(
    'forbidden',
    error instanceof Error ? error.message : 'The request could not be built.',
  )
}

/** A call that must come first, such as a token request, failed. */
export class UpstreamCallError extends Error {
  readonly upstreamError: UpstreamError

  constructor(error: UpstreamError) {
    super(error.message)
    this.name = 'UpstreamCallError'
    this.upstreamError = error
  }
}
