/**
 * The doors that are not in a hurry, over Hono: the console's interface, the automation contract and the description of
 * both; and the public status. The contract is open to whoever has its key, and to operators by their session.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { mailerFor } from '../lib/email.ts'
import { actorIn, visitorOf, type ConsoleDesk } from './console/visit.ts'
import { consolePath, createConsoleApp } from './console/app.ts'
import { checkSameSite } from './console/auth/csrf.ts'
import { adminPath, createAdminApp } from './admin/app.ts'
import { refusalOfThrown } from './admin/problems.ts'
import { Callers } from './caller.ts'
import { fetchListener, type FetchDoor } from './server/fetch-listener.ts'
import type { House } from './house.ts'
import { statusDoor } from './status/door.ts'
import { statusPathOf } from './status/paths.ts'

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const made = new WeakMap<House, Listener>()
/** An application is made for each operator who comes; they are few. */
const operatorsMost = 100

/** The contract in the name of whoever asks: the key's, or an operator's by the session. */
function contractDoor(desk: ConsoleDesk): FetchDoor {
  const { house, onBug } = desk
  const byKey = createAdminApp(house, { authenticate: true, onBug })
  const byOperator = new Map<string, OpenAPIHono>()
  const appOf = (by: string): OpenAPIHono => {
    const known = byOperator.get(by)
    if (known !== undefined) return known
    if (byOperator.size >= operatorsMost) byOperator.clear()
    const app = createAdminApp(house, { authenticate: false, by, onBug })
    byOperator.set(by, app)
    return app
  }
  return async (request) => {
    const { headers, method } = request
    const isContract = new URL(request.url).pathname.startsWith(`${adminPath}/`)
    if (!isContract || headers.has('authorization')) return byKey.fetch(request)
    const signedIn = await visitorOf(desk, headers.get('cookie') ?? undefined)
    if (signedIn?.person.role !== 'operator') return byKey.fetch(request)
    checkSameSite(house.config, { method, header: (name) => headers.get(name) ?? undefined })
    return appOf(actorIn(signedIn)).fetch(request)
  }
}

/** The listener for `/api`, `/openapi.json` and the public status; made once per house. `onBug`: told what is shown to nobody. */
export function administration(house: House, onBug: (error: unknown, requestId: string) => void): Listener {
  const known = made.get(house)
  if (known) return known
  const { config, directory } = house
  const mailer = config.smtpUrl === null ? null : mailerFor(config.smtpUrl, config.mailFrom)
  const callers = new Callers(directory, config.trustProxy)
  const desk: ConsoleDesk = { house, callers, mailer, onBug }
  const contract = contractDoor(desk)
  const pages = createConsoleApp(desk)
  const status = statusDoor(house)
  const listener = fetchListener(async (request, peer) => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(`${consolePath}/`)) return pages.fetch(request, { peer })
    try {
      return await (statusPathOf(pathname) === undefined ? contract : status)(request, peer)
    } catch (error) {
      const { refusal, isOurs } = refusalOfThrown(error)
      if (isOurs) onBug(error, '')
      return Response.json(refusal.toBody(), { status: refusal.status })
    }
  })
  made.set(house, listener)
  return listener
}
