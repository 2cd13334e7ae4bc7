/**
 * CORS, off by default: a web page that calls the relay exposes its key to every visitor. If an operator enables it,
 * only the configured origins are allowed.
 */
import type { IncomingRequest } from './incoming-request.ts'

const allowHeaders = [
  'access-control-allow-methods',
  'GET, POST, OPTIONS',
  'access-control-expose-headers',
  'x-request-id, idempotent-replayed, request-id, x-sluice-cost, x-should-retry, retry-after, retry-after-ms, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens',
  'access-control-max-age',
  '86400',
]

/**
 * Headers of a response to a page, as a flat list. A preflight's headers are all allowed: client libraries add their own
 * with every release, and the handlers read only those that they know.
 */
export function corsHeaders(
  origins: readonly string[],
  request: Pick<IncomingRequest, 'header'>,
): readonly string[] {
  const origin = request.header('origin')
  if (origins.length === 0 || origin === undefined) return []
  const any = origins.includes('*')
  if (!any && !origins.includes(origin)) return ['vary', 'origin']
  const allowed = ['access-control-allow-origin', any ? '*' : origin, 'vary', 'origin', ...allowHeaders]
  const requested = request.header('access-control-request-headers')
  return requested === undefined ? allowed : [...allowed, 'access-control-allow-headers', requested]
}
