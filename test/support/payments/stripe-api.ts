/** The calls of the scripted Stripe's API, its idempotency, and its faults. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderFaults } from './scripted-provider.ts'
import {
  balanceJson,
  disputeJson,
  intentJson,
  pageOf,
  refundJson,
  sessionJson,
  type Json,
} from './stripe-objects.ts'
import { StripeCallError, type StripeState } from './stripe-state.ts'

export const secretKey = 'sk_test_scripted'
export const apiVersion = '2026-10-28.endive'
const refundStates = { processing: 'pending', abnormal: 'failed', 'odd-code': 'reversed_somehow' } as const

export interface ApiResponse {
  readonly status: number
  readonly body: string
}

export interface StripeCall {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** The connection ends without a response. */
export class NoResponseError extends Error {}

export class StripeApi {
  faults: ProviderFaults = {}
  /** The most that a page of a list contains. */
  pageSize = 100
  /** The mode of the key. */
  livemode = false
  /** What a restricted key must not read. */
  forbidden: string | null = null
  readonly #state: StripeState
  readonly #keys = new Map<string, { readonly request: string; readonly response: ApiResponse }>()
  readonly #flapped = new Set<string>()

  constructor(state: StripeState) {
    this.#state = state
  }

  /** One response per idempotency key; another request under the same key is 400. */
  respond(call: StripeCall): ApiResponse {
    const { authorization, 'stripe-version': version, 'idempotency-key': key } = call.headers
    if (authorization !== `Bearer ${secretKey}`) return errorResponse(401, {})
    if (version !== apiVersion) return errorResponse(400, { param: 'stripe-version' })
    if (call.method === 'GET') return this.#respondToNew(call)
    if (typeof key !== 'string') return errorResponse(400, { param: 'idempotency-key' })
    const request = `${call.method} ${call.path} ${call.body}`
    const known = this.#keys.get(key)
    if (known !== undefined) {
      return known.request === request ? known.response : errorResponse(400, { type: 'idempotency_error' })
    }
    const response = this.#respondToNew(call)
    // Parameters that are wrong begin nothing, and their responses are not kept.
    if (response.status !== 400 && response.status !== 404) this.#keys.set(key, { request, response })
    return response
  }

  /** As after 24 hours. */
  forgetKeys(): void {
    this.#keys.clear()
  }

  #respondToNew(call: StripeCall): ApiResponse {
    try {
      const result = this.#carryOut(call)
      return typeof result === 'string'
        ? { status: 200, body: result }
        : { status: 200, body: JSON.stringify(result) }
    } catch (error) {
      if (!(error instanceof StripeCallError)) throw error
      return errorResponse(error.status, error.fields)
    }
  }

  #carryOut({ method, path, body }: StripeCall): Json | string {
    const { pathname, searchParams: query } = new URL(path, 'http://stripe')
    const [resource = '', id = '', action] = pathname.replace(/^\/v1\/(checkout\/)?/, '').split('/')
    const form = new URLSearchParams(body)
    const state = this.#state
    if (resource === this.forbidden) throw new StripeCallError(403, {})
    switch (`${method} ${resource}${id === '' ? '' : `/${action ?? 'id'}`}`) {
      case 'POST sessions':
        return this.#create(form)
      case 'POST payment_intents':
        this.#failCreate()
        return intentJson(state.chargeCard(form))
      case 'GET sessions/id':
        return this.#readSession(id)
      case 'GET payment_intents/id':
        return this.#failQuery() ?? intentJson(state.intent(id))
      case 'GET sessions':
        return pageOf(
          state.sessions.map((session) => sessionJson(session, false)),
          query,
          this.pageSize,
        )
      case 'GET payment_intents':
        return this.#failQuery() ?? pageOf(state.intents.map(intentJson), query, this.pageSize)
      case 'POST sessions/expire':
        return this.#expire(id)
      case 'POST payment_intents/cancel':
        return this.#cancel(id)
      case 'POST refunds':
        return this.#refund(form)
      case 'GET refunds':
        return pageOf(state.refunds.map(refundJson), query, this.pageSize)
      case 'GET refunds/id':
        return refundJson(state.refunds.find((known) => known.id === id) ?? missing())
      case 'GET disputes':
        return pageOf(state.disputes.map(disputeJson), query, this.pageSize)
      case 'GET disputes/id':
        return disputeJson(state.disputes.find((known) => known.id === id) ?? missing())
      case 'GET balance_transactions':
        return this.#bill(query)
      case 'GET balance':
        return { object: 'balance', livemode: this.livemode, available: [] }
      case 'POST payment_methods/detach':
        return state.detachCard(id)
      case 'GET payment_methods/id':
        return state.cardJson(id)
      default:
        throw new StripeCallError(404, { message: 'Unrecognized request URL.' })
    }
  }

  #failCreate(): void {
    if (this.faults.create === 'unreachable') throw new NoResponseError()
    if (this.faults.create === 'refused') throw new StripeCallError(400, { code: 'amount_too_large' })
  }

  #create(form: URLSearchParams): Json {
    this.#failCreate()
    return sessionJson(this.#state.createSession(form), false)
  }

  #failQuery(): string | null {
    const { query } = this.faults
    if (query === 'timeout') throw new NoResponseError()
    if (query === 'server-error') throw new StripeCallError(500, { type: 'api_error' })
    // Stripe signs no responses, so one of somebody else's looks like this.
    return query === undefined || query === 'flapping' ? null : '<html><body>Please log in</body></html>'
  }

  #readSession(id: string): Json | string {
    const page = this.#failQuery()
    if (page !== null) return page
    const session = this.#state.session(id)
    const isFirst = session.status === 'complete' && !this.#flapped.has(id)
    if (this.faults.query !== 'flapping' || !isFirst) return sessionJson(session, true)
    this.#flapped.add(id)
    return sessionJson({ ...session, status: 'open', intent: null }, true)
  }

  #expire(id: string): Json {
    if (this.faults.close === 'timeout') throw new NoResponseError()
    const session = this.#state.session(id)
    if (this.faults.close === 'says-paid') this.#state.pay(session.order)
    this.#state.expire(session)
    return sessionJson(session, false)
  }

  #cancel(id: string): Json {
    const intent = this.#state.intent(id)
    if (intent.status === 'succeeded') throw new StripeCallError(400, {})
    intent.status = 'canceled'
    return intentJson(intent)
  }

  #refund(form: URLSearchParams): Json {
    const { refund } = this.faults
    if (refund === 'refused') throw new StripeCallError(400, { code: 'charge_disputed' })
    const status = refundStates[refund as keyof typeof refundStates] ?? 'succeeded'
    const intent = this.#state.intent(form.get('payment_intent') ?? '')
    const number = form.get('metadata[refund]')
    const made = this.#state.refund(intent, Number(form.get('amount')), number, status)
    return refundJson(made)
  }

  #bill(query: URLSearchParams): Json | string {
    const { bill } = this.faults
    if (bill === 'html') return '<html></html>'
    if (bill === 'missing') throw new StripeCallError(500, { type: 'api_error' })
    const page = pageOf(this.#state.balance.map(balanceJson), query, this.pageSize)
    return bill === 'short' || bill === 'wrong-hash' ? JSON.stringify(page).slice(0, -20) : page
  }
}

function errorResponse(status: number, error: Json): ApiResponse {
  return {
    status,
    body: JSON.stringify({ error: { type: 'invalid_request_error', message: 'No.', ...error } }),
  }
}

function missing(): never {
  throw new StripeCallError(404, { code: 'resource_missing' })
}
