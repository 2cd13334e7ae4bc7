/**
 * All routes on one screen, over raw node:http: the public interface itself, and the door to everything that is
 * administered. No rules live here; a door parses, calls, answers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../accounts/directory.ts'
import { refusalOf, refuse, type Refusal } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { CallerExchange } from '../relay/exchange.ts'
import { BodyReader, lingerAndClose } from './body.ts'
import { Callers } from './caller.ts'
import { corsHeaders } from './cors.ts'
import type { House } from './house.ts'
import { NodeExchange } from './node-exchange.ts'
import { balanceBody, billingUsageBody, requestBody, subscriptionBody } from './v1/account.ts'
import { chatCompletions, type ChatDoor } from './v1/chat-completions.ts'
import { modelListBody, oneModelBody } from './v1/models.ts'

export interface DoorParts extends ChatDoor {
  readonly house: House
  /** The doors of `/api` and `/openapi.json`, made when first called: they are not in a hurry. */
  readonly other: () => Promise<(incoming: IncomingMessage, outgoing: ServerResponse) => void>
  /** Told about errors that are our bug. */
  readonly onBug: (error: unknown, requestId: string) => void
  /** Told about each refusal of an identified caller that came before the relay. */
  readonly onRefused: (refusal: Refusal, call: { id: string; caller: Caller }) => void
  readonly isDraining: () => boolean
}

interface Visit {
  readonly id: string
  readonly incoming: IncomingMessage
  readonly exchange: CallerExchange
  readonly path: string
  readonly query: string
  readonly headers: string[]
  caller: Caller | null
}

/** The value of a header, from the raw list: the parsed one costs more than the whole lookup. */
function headerOf(incoming: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = incoming
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i]
    if (each?.length === name.length && each.toLowerCase() === name) return rawHeaders[i + 1]
  }
  return undefined
}

const json = ['content-type', 'application/json']

export class Doors {
  readonly #parts: DoorParts
  readonly #bodies: BodyReader
  readonly callers: Callers

  constructor(parts: DoorParts) {
    this.#parts = parts
    const { config, directory } = parts.house
    this.#bodies = new BodyReader(config)
    this.callers = new Callers(directory, config.trustProxy)
  }

  /** Answers one request; never throws. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { url = '/' } = incoming
    if (url.startsWith('/api') || url === '/openapi.json') {
      const other = await this.#parts.other()
      other(incoming, outgoing)
      return
    }
    const id = newId('req')
    const { corsOrigins } = this.#parts.house.config
    const common = ['x-request-id', id]
    if (corsOrigins.length > 0) common.push(...corsHeaders(corsOrigins, headerOf(incoming, 'origin')))
    if (this.#parts.isDraining()) common.push('connection', 'close')
    const exchange = new NodeExchange(outgoing, common)
    const question = url.indexOf('?')
    const path = question === -1 ? url : url.slice(0, question)
    const query = question === -1 ? '' : url.slice(question)
    const visit: Visit = { id, incoming, exchange, path, query, headers: [], caller: null }
    try {
      await this.#route(visit)
    } catch (error) {
      this.#refuse(visit, error)
    }
  }

  async #route(visit: Visit): Promise<void> {
    const { house } = this.#parts
    const path = visit.path.startsWith('/v1/') ? visit.path.slice(3) : visit.path
    const method = visit.incoming.method ?? 'GET'
    if (method === 'OPTIONS' && house.config.corsOrigins.length > 0) return visit.exchange.answer(204, [], '')
    switch (path) {
      case '/chat/completions':
        return this.#only(method, 'POST', () => this.#chat(visit))
      case '/models':
        return this.#only(method, 'GET', () =>
          this.#tell(visit, (caller) => modelListBody(house.catalog, caller)),
        )
      case '/balance':
        return this.#only(method, 'GET', () => this.#tell(visit, (caller) => balanceBody(house, caller)))
      case '/dashboard/billing/subscription':
        return this.#only(method, 'GET', () => this.#tell(visit, (caller) => subscriptionBody(house, caller)))
      case '/dashboard/billing/usage':
        return this.#only(method, 'GET', () =>
          this.#tell(visit, (caller) => billingUsageBody(house, caller, new URLSearchParams(visit.query))),
        )
      case '/healthz':
        return visit.exchange.answer(200, json, '{"status":"ok"}')
      case '/readyz':
        return house.isReady()
          ? visit.exchange.answer(200, json, '{"status":"ready"}')
          : this.#refuse(visit, refuse('service_unavailable'))
      case '/metrics':
        return visit.exchange.answer(
          200,
          ['content-type', 'text/plain; version=0.0.4'],
          await house.metrics(),
        )
    }
    if (path.startsWith('/models/')) {
      const name = decoded(path.slice('/models/'.length))
      return this.#only(method, 'GET', () =>
        this.#tell(visit, (caller) => oneModelBody(house.catalog, caller, name)),
      )
    }
    if (path.startsWith('/requests/')) {
      const requestId = decoded(path.slice('/requests/'.length))
      return this.#only(method, 'GET', () =>
        this.#tell(visit, (caller) => requestBody(house, caller, requestId)),
      )
    }
    throw refuse('not_found', { message: `There is nothing at ${visit.path.slice(0, 200)}.` })
  }

  #only(method: string, allowed: 'GET' | 'POST', then: () => Promise<void>): Promise<void> {
    if (method === allowed || (method === 'HEAD' && allowed === 'GET')) return then()
    throw refuse('method_not_allowed', { message: `Use ${allowed} here.` })
  }

  #identify(visit: Visit): Caller {
    const { incoming } = visit
    const caller = this.callers.identify(headerOf(incoming, 'authorization'))
    visit.caller = caller
    this.callers.admit(caller, incoming.socket.remoteAddress, headerOf(incoming, 'x-forwarded-for'))
    return caller
  }

  async #tell(visit: Visit, body: (caller: Caller) => unknown): Promise<void> {
    const caller = this.#identify(visit)
    visit.exchange.answer(200, json, JSON.stringify(await body(caller)))
  }

  async #chat(visit: Visit): Promise<void> {
    const { incoming, id, exchange, headers } = visit
    const caller = this.#identify(visit)
    const type = headerOf(incoming, 'content-type')
    if (type !== undefined && !/^(?:application\/(?:[\w.+-]+\+)?json|text\/plain)\b/i.test(type)) {
      throw refuse('unsupported_media_type')
    }
    if (!this.#parts.house.isReady() && !this.#parts.isDraining())
      throw refuse('service_unavailable', { retryAfterMs: 1000 })
    const announced = headerOf(incoming, 'content-length')
    const body = await this.#bodies.read(incoming, announced === undefined ? NaN : Number(announced))
    try {
      await chatCompletions(this.#parts, { id, caller, body, headers }, exchange)
    } finally {
      this.#bodies.release(body.length)
    }
  }

  #refuse(visit: Visit, error: unknown): void {
    const refusal = refusalOf(error)
    if (refusal !== error) this.#parts.onBug(error, visit.id)
    if (visit.caller) this.#parts.onRefused(refusal, { id: visit.id, caller: visit.caller })
    if (visit.exchange.isBegun || visit.exchange.isGone) return
    const headers = [...json, ...visit.headers, ...retryHeaders(refusal)]
    if (!visit.incoming.complete) headers.push('connection', 'close')
    visit.exchange.answer(refusal.status, headers, JSON.stringify(refusal.toBody()))
    if (!visit.incoming.complete) lingerAndClose(visit.incoming)
  }
}

function retryHeaders(refusal: Refusal): string[] {
  const headers: string[] = []
  const { retryAfterMs } = refusal.detail
  if (refusal.final) headers.push('x-should-retry', 'false')
  if (retryAfterMs === undefined) return headers
  const ms = Math.max(1, Math.ceil(retryAfterMs))
  return [...headers, 'retry-after', String(Math.ceil(ms / 1000)), 'retry-after-ms', String(ms)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse('invalid_request', { message: 'The address is not valid.' })
  }
}
