/** Adapts a handler from `Request` to `Response` to a listener of node:http. Not for the hot path. */

import { getRequestListener } from '@hono/node-server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { asApiError } from '../../errors.ts'

/** `peer`: the remote address of the connection. */
export type FetchHandler = (request: Request, peer: string | undefined) => Promise<Response>

/** What the handler throws is returned as an API error; errors that are not an `ApiError` reveal nothing. */
export function fetchListener(
  handler: FetchHandler,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener(
    (request, { incoming }) => handler(request, incoming.socket.remoteAddress),
    {
      overrideGlobalObjects: false,
      errorHandler(error) {
        const apiError = asApiError(error)
        return Response.json(apiError.toBody(), { status: apiError.status })
      },
    },
  )
  return (incoming, outgoing) => void listener(incoming, outgoing)
}
