/** A door that takes a `Request` and answers a `Response`, as a listener of node:http. Not for the hot path. */

import { getRequestListener } from '@hono/node-server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { refusalOf } from '../../errors.ts'

/** `peer`: the address at the other end of the connection. */
export type FetchDoor = (request: Request, peer: string | undefined) => Promise<Response>

/** What the door throws becomes the body of the format; nothing of it is shown unless it was meant to be. */
export function fetchListener(
  door: FetchDoor,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener(
    (request, { incoming }) => door(request, incoming.socket.remoteAddress),
    {
      overrideGlobalObjects: false,
      errorHandler(error) {
        const refusal = refusalOf(error)
        return Response.json(refusal.toBody(), { status: refusal.status })
      },
    },
  )
  return (incoming, outgoing) => void listener(incoming, outgoing)
}
