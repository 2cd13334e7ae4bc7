/** The doors that are not in a hurry: the automation contract and the interface's description, over Hono. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createAdminApp } from './admin/app.ts'
import { fetchListener } from './fetch-listener.ts'
import type { House } from './house.ts'

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const made = new WeakMap<House, Listener>()

/** The listener for `/api/admin` and `/openapi.json`; made once per house. `onBug`: told what is shown to nobody. */
export function administration(house: House, onBug: (error: unknown, requestId: string) => void): Listener {
  const known = made.get(house)
  if (known) return known
  const app = createAdminApp(house, { authenticate: true, onBug })
  const listener = fetchListener(async (request) => app.fetch(request))
  made.set(house, listener)
  return listener
}
