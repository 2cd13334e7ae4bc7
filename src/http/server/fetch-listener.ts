/** Adapts a handler from `Request` to `Response` to a listener of node:http. Not for the hot path. */

import { getRequestListener, RequestError } from '@hono/node-server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { apiError, asApiError, type ApiError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { requireValidTarget } from '../request-target.ts'

/** `peer`: the remote address of the connection. */
export type FetchHandler = (request: Request, peer: string | undefined) => Promise<Response>

/** The response to a request that no application handled. */
export function errorResponse(error: ApiError): Response {
  const headers: Record<string, string> = { 'x-request-id': newId('req'), 'cache-control': 'no-store' }
  const { acceptEncoding, retryAfterMs } = error.detail
  if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding
  if (retryAfterMs !== undefined) headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000))
  return Response.json(error.toBody(), { status: error.status, headers })
}

/**
 * What the handler throws is returned as an API error; errors that are not an `ApiError` reveal nothing. A `Host` or a
 * path from which no URL can be built is the client's error.
 */
export function fetchListener(
  handler: FetchHandler,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener(
    async (request, { incoming }) => {
      requireValidTarget(incoming.url ?? '')
      const response = await handler(request, incoming.socket.remoteAddress)
      // The rest of a body that is read no further is in the way of the next request.
      if (request.bodyUsed && !incoming.complete) response.headers.set('connection', 'close')
      return response
    },
    {
      overrideGlobalObjects: false,
      errorHandler(error) {
        if (!(error instanceof RequestError)) return errorResponse(asApiError(error))
        return errorResponse(
          apiError('invalid_request', { message: `Malformed HTTP request: ${error.message}.` }),
        )
      },
    },
  )
  return (incoming, outgoing) => void listener(incoming, outgoing)
}
