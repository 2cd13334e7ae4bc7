/**
 * All routes on one screen: the public interface itself, and the door to everything that is
 * administered. No rules live here; a door parses, calls, answers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../accounts/directory.ts'
import { isAway, refusalBehind } from '../db/store-error.ts'
import { refuse, type Refusal } from '../errors.ts'
import { messagesErrorBody } from '../formats/messages-error.ts'
import { newId } from '../lib/ids.ts'
import type { CallerExchange } from '../relay/exchange.ts'
import type { Arrival } from './incoming-request.ts'
import { BodyBudget } from './body.ts'
import { Callers } from './caller.ts'
import { isConsolePath } from './static-files.ts'
import { callerOfSession } from './console/playground.ts'
import { corsHeaders } from './cors.ts'
import type { House } from './house.ts'
import { NodeArrival } from './server/node-request.ts'
import { statusPathOf } from './status/paths.ts'
import { balanceBody, billingUsageBody, requestBody, subscriptionBody } from './openai/account.ts'
import type { Progress } from '../relay/relay-request.ts'
import { chatCompletions, type ChatDoor } from './v1/chat-completions.ts'
import { messages, messageTokens } from './v1/messages.ts'
import {
  messagesModelListBody,
  modelListBody,
  oneMessagesModelBody,
  oneModelBody,
} from './anthropic/models.ts'

export interface DoorParts extends ChatDoor {
  readonly house: House
  /** The doors of `/api` and `/openapi.json`, made when first called: they are not in a hurry. */
  readonly other: () => (incoming: IncomingMessage, outgoing: ServerResponse) => void
  /** The console's files, read when first called. */
  readonly console: () => (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
  /** Told about errors that are our bug. */
  readonly onBug: (error: unknown, requestId: string) => void
  /** Told about each chat request of an identified caller that was refused before it was admitted. */
  readonly onRefused: (refusal: Refusal, call: RefusedCall) => void
  readonly isDraining: () => boolean
}

export interface RefusedCall {
  readonly id: string
  readonly caller: Caller
  readonly progress: Progress
}

interface Visit {
  readonly id: string
  readonly arrival: Arrival
  readonly exchange: CallerExchange
  /** Of every answer: the request's id among them. */
  readonly common: string[]
  readonly headers: string[]
  /** How far a chat request has come; its caller once identified. */
  readonly progress: Progress
  /** Its caller speaks Anthropic's format: that is how refusals are told. */
  readonly isOfMessages: boolean
  caller: Caller | null
}

const json = ['content-type', 'application/json']
/** A call of the console's own pages, by their session. */
const playgroundPath = '/api/console/chat/completions'

export class Doors {
  readonly #parts: DoorParts
  readonly #bodies: BodyBudget
  readonly callers: Callers

  constructor(parts: DoorParts) {
    this.#parts = parts
    const { config, directory } = parts.house
    this.#bodies = new BodyBudget(config)
    this.callers = new Callers(directory, config.trustProxy)
  }

  /** Answers one request of node:http; never throws. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // Some proxies send the whole address (RFC 9112, 3.2.2).
    if (!incoming.url?.startsWith('/')) incoming.url = incoming.url?.replace(/^https?:\/\/[^/?#]*\/?/i, '/')
    const { url = '/' } = incoming
    const isOther = url.startsWith('/api') && url !== playgroundPath
    if (isOther || url === '/openapi.json' || this.#isStatus(url)) {
      return this.#parts.other()(incoming, outgoing)
    }
    if (isConsolePath(url)) return this.#parts.console()(incoming, outgoing)
    await this.receive(new NodeArrival(incoming, outgoing))
  }

  /** The public status, where the operator has it. */
  #isStatus(url: string): boolean {
    return statusPathOf(url) !== undefined && this.#parts.house.config.statusPage
  }

  /** Answers one request of the public interface; never throws. */
  async receive(arrival: Arrival): Promise<void> {
    const id = newId('req')
    const { corsOrigins } = this.#parts.house.config
    const common = ['x-request-id', id]
    if (corsOrigins.length > 0) common.push(...corsHeaders(corsOrigins, arrival.header('origin')))
    if (this.#parts.isDraining()) common.push('connection', 'close')
    const progress: Progress = { model: '', stream: false, isAdmitted: false }
    const isOfMessages = speaksMessages(arrival)
    if (isOfMessages) common.push('request-id', id)
    const exchange = arrival.reply(common)
    const visit: Visit = { id, arrival, exchange, common, headers: [], progress, isOfMessages, caller: null }
    try {
      if (!(await this.#operations(visit))) await this.#route(visit)
    } catch (error) {
      this.#refuse(visit, error)
    }
  }

  /** What whoever runs the relay asks of it, under these addresses only. */
  async #operations({ arrival, exchange }: Visit): Promise<boolean> {
    const { house } = this.#parts
    switch (arrival.path) {
      case '/healthz':
        exchange.answer(200, json, '{"status":"ok"}')
        return true
      case '/readyz':
        if (!house.isReady()) throw refuse('service_unavailable', { retryAfterMs: 1000 })
        exchange.answer(200, json, '{"status":"ready"}')
        return true
      case '/metrics':
        exchange.answer(200, ['content-type', 'text/plain; version=0.0.4'], await house.metrics())
        return true
      default:
        return false
    }
  }

  async #route(visit: Visit): Promise<void> {
    const { house } = this.#parts
    const { arrival, exchange } = visit
    const { method } = arrival
    // Clients of Anthropic's format add /v1 to whatever base address they are given.
    const path = withoutVersion(withoutVersion(arrival.path))
    if (method === 'OPTIONS' && house.config.corsOrigins.length > 0) return exchange.answer(204, [], '')
    switch (path) {
      case '/chat/completions':
        only(visit, 'POST')
        return this.#ask(visit, chatCompletions)
      case playgroundPath:
        only(visit, 'POST')
        visit.caller = await callerOfSession(house, arrival)
        return this.#ask(visit, chatCompletions)
      case '/messages':
        only(visit, 'POST')
        return this.#ask(visit, messages)
      case '/messages/count_tokens':
        only(visit, 'POST')
        return this.#ask(visit, messageTokens)
      case '/models': {
        only(visit, 'GET')
        if (!visit.isOfMessages) return this.#tell(visit, (caller) => modelListBody(house.catalog, caller))
        const query = new URLSearchParams(arrival.query)
        return this.#tell(visit, (caller) => messagesModelListBody(house.catalog, caller, query))
      }
      case '/balance':
        only(visit, 'GET')
        return this.#tell(visit, (caller) => balanceBody(house, caller))
      case '/dashboard/billing/subscription':
        only(visit, 'GET')
        return this.#tell(visit, (caller) => subscriptionBody(house, caller))
      case '/dashboard/billing/usage': {
        only(visit, 'GET')
        const query = new URLSearchParams(arrival.query)
        return this.#tell(visit, (caller) => billingUsageBody(house, caller, query))
      }
    }
    if (path.startsWith('/models/')) {
      only(visit, 'GET')
      const name = decoded(path.slice('/models/'.length))
      const body = visit.isOfMessages ? oneMessagesModelBody : oneModelBody
      return this.#tell(visit, (caller) => body(house.catalog, caller, name))
    }
    if (path.startsWith('/requests/')) {
      only(visit, 'GET')
      const requestId = decoded(path.slice('/requests/'.length))
      return this.#tell(visit, (caller) => requestBody(house, caller, requestId))
    }
    throw refuse('not_found', { message: `There is nothing at ${arrival.path.slice(0, 200)}.` })
  }

  /** Throws 401, or 503 where this node cannot know whether there is such a key. */
  async #identify(visit: Visit): Promise<Caller> {
    const { arrival } = visit
    const find = (): Caller | null =>
      this.callers.identifyByEither(arrival.header('x-api-key'), arrival.header('authorization'))
    // A page of the console has come in by its session.
    visit.caller ??= find()
    if (!visit.caller) {
      if (!(await this.#parts.house.isCurrent())) throw refuse('service_unavailable', { retryAfterMs: 1000 })
      visit.caller = find()
    }
    const { caller } = visit
    if (!caller) throw refuse('invalid_api_key')
    this.callers.admit(caller, arrival.peer, arrival.header('x-forwarded-for'))
    return caller
  }

  async #tell(visit: Visit, body: (caller: Caller) => unknown): Promise<void> {
    const caller = await this.#identify(visit)
    visit.exchange.answer(200, json, JSON.stringify(await body(caller)))
  }

  async #ask(visit: Visit, serve: typeof chatCompletions): Promise<void> {
    const { arrival, id, exchange, common, headers, progress } = visit
    const caller = await this.#identify(visit)
    const type = arrival.header('content-type')
    if (type !== undefined && !/^(?:application\/(?:[\w.+-]+\+)?json|text\/plain)\b/i.test(type)) {
      throw refuse('unsupported_media_type')
    }
    if (!this.#parts.house.isReady() && !this.#parts.isDraining())
      throw refuse('service_unavailable', { retryAfterMs: 1000 })
    const body = await arrival.body(this.#bodies)
    try {
      const startedMs = performance.now()
      const call = { id, caller, arrival, body, common, headers, progress, startedMs }
      await serve(this.#parts, call, exchange)
    } finally {
      this.#bodies.release(body.length)
    }
  }

  #refuse(visit: Visit, error: unknown): void {
    const refusal = refusalBehind(error)
    if (refusal !== error && !isAway(error)) this.#parts.onBug(error, visit.id)
    const { arrival, exchange, id, caller, progress } = visit
    const isRequest = /\/(?:chat\/completions|messages)$/.test(arrival.path)
    if (isRequest && caller && !progress.isAdmitted) this.#parts.onRefused(refusal, { id, caller, progress })
    if (exchange.isBegun || exchange.isGone) return
    const headers = [...json, ...visit.headers, ...refusalHeaders(refusal)]
    const { isComplete } = arrival
    if (!isComplete) headers.push('connection', 'close')
    const body = visit.isOfMessages ? messagesErrorBody(refusal, id) : refusal.toBody()
    exchange.answer(refusal.status, headers, JSON.stringify(body))
    if (!isComplete) arrival.linger()
  }
}

function withoutVersion(path: string): string {
  return path.startsWith('/v1/') ? path.slice('/v1'.length) : path
}

/** Clients of Anthropic's format tell its version with every call. */
function speaksMessages(arrival: Arrival): boolean {
  const { path } = arrival
  if (path.endsWith('/chat/completions')) return false
  return /^(?:\/v1){0,2}\/messages(?:\/|$)/.test(path) || arrival.header('anthropic-version') !== undefined
}

function only({ arrival: { method }, headers }: Visit, allowed: 'GET' | 'POST'): void {
  if (method === allowed || (method === 'HEAD' && allowed === 'GET')) return
  headers.push('allow', allowed === 'GET' ? 'GET, HEAD' : allowed)
  throw refuse('method_not_allowed', { message: `Use ${allowed} here.` })
}

/** What a refusal says in headers: how to come in, whether and when to come again. */
function refusalHeaders(refusal: Refusal): string[] {
  const headers: string[] = refusal.status === 401 ? ['www-authenticate', 'Bearer'] : []
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
