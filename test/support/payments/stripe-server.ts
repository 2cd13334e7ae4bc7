/** Stripe as the tests script it: a server of its API, what payers and the merchant do, and its notices. */
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { deliverNotice } from './scripted-provider.ts'
import { LoopbackServer } from './loopback-server.ts'
import type {
  GenuinePayment,
  NoticeFault,
  PaymentChanges,
  ProviderFaults,
  ScriptedNotice,
  ScriptedProvider,
} from './scripted-provider.ts'
import { apiVersion, NoResponseError, secretKey, StripeApi, type StripeCall } from './stripe-api.ts'
import { disputeJson, intentJson, refundJson, sessionJson, type Json } from './stripe-objects.ts'
import { StripeState } from './stripe-state.ts'

export const webhookSecret = 'whsec_test_secret'

export class StripeServer implements ScriptedProvider {
  readonly method = 'stripe'
  /** How many of the next calls are carried out without a response. */
  lostResponses = 0
  readonly calls: StripeCall[] = []
  readonly api: StripeApi
  readonly state: StripeState
  readonly #now: () => number
  readonly #server: LoopbackServer

  private constructor(now: () => number) {
    this.#now = now
    this.state = new StripeState(now)
    this.api = new StripeApi(this.state)
    this.#server = new LoopbackServer((request, response) => void this.#serve(request, response))
  }

  static async start(now: () => number = Date.now): Promise<StripeServer> {
    const server = new StripeServer(now)
    await server.#server.listen()
    return server
  }

  get faults(): ProviderFaults {
    return this.api.faults
  }

  set faults(faults: ProviderFaults) {
    this.api.faults = faults
  }

  get settings(): Readonly<Record<string, string>> {
    return {
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: `whsec_rolled_out,${webhookSecret}`,
      STRIPE_BASE: this.#server.url,
      PAYMENT_ALLOW: '127.0.0.1',
    }
  }

  get orders(): readonly string[] {
    return [...new Set(this.state.sessions.map(({ order }) => order))]
  }

  get payments(): readonly GenuinePayment[] {
    return this.state.payments
  }

  pay(order: string, changes?: PaymentChanges): string {
    return this.state.pay(order, changes).id
  }

  process(order: string): void {
    this.state.process(order)
  }

  refundElsewhere(order: string, amountMinor: bigint): string {
    return this.state.refund(this.#paidIntent(order), Number(amountMinor), null, 'succeeded').id
  }

  finishRefunds(): void {
    for (const refund of this.state.refunds) if (refund.status === 'pending') refund.status = 'succeeded'
  }

  /** The payer's bank takes the money back, or only asks (`warning_needs_response`); returns Stripe's reference. */
  dispute(order: string, status = 'needs_response'): string {
    return this.state.dispute(this.#paidIntent(order), status).id
  }

  #paidIntent(order: string) {
    const intent = this.state.intents.find((known) => known.order === order && known.status === 'succeeded')
    if (intent === undefined) throw new Error(`The order ${order} is not paid`)
    return intent
  }

  notice(order: string, fault?: NoticeFault): ScriptedNotice {
    const session = this.state.sessions.findLast((known) => known.order === order)
    if (session !== undefined) {
      const type = session.status === 'expired' ? 'checkout.session.expired' : 'checkout.session.completed'
      return this.event(type, sessionJson(session, false), fault)
    }
    const intent = this.state.intents.findLast((known) => known.order === order)
    if (intent === undefined) throw new Error(`Stripe knows no order ${order}`)
    const type = intent.status === 'succeeded' ? 'payment_intent.succeeded' : 'payment_intent.payment_failed'
    return this.event(type, intentJson(intent), fault)
  }

  /** `name`: the relay's number, or Stripe's reference. */
  refundNotice(name: string): ScriptedNotice {
    const refund = this.state.refunds.find((known) => known.refund === name || known.id === name)
    if (refund === undefined) throw new Error(`Stripe knows no refund ${name}`)
    return this.event('refund.updated', refundJson(refund))
  }

  disputeNotice(reference: string, type = 'charge.dispute.created'): ScriptedNotice {
    const dispute = this.state.disputes.find(({ id }) => id === reference)
    if (dispute === undefined) throw new Error(`Stripe knows no dispute ${reference}`)
    return this.event(type, disputeJson(dispute))
  }

  /** A signed notice of any type. */
  event(type: string, object: Json, fault?: NoticeFault, previous: Json = {}): ScriptedNotice {
    const age = { old: -301, future: 301 }[fault as 'old' | 'future'] ?? 0
    const time = Math.floor(this.#now() / 1000) + age
    const event = { id: 'evt_1', object: 'event', api_version: apiVersion, livemode: false, type }
    const body = JSON.stringify({ ...event, data: { object, previous_attributes: previous } })
    const secret = fault === 'wrong-key' ? 'whsec_of_somebody_else' : webhookSecret
    const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
    const scheme = fault === 'no-signature' ? 'v0' : 'v1'
    const doubled = fault === 'repeated-field' ? `t=${time - 9999},` : ''
    return {
      method: 'POST',
      query: '',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'stripe-signature': `${doubled}t=${time},${scheme}=${signature}`,
      },
      body: fault === 'altered-body' ? body.replace('"livemode":false', '"livemode":true') : body,
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request
    const call = { method, path, headers, body: await text(request) }
    this.calls.push(call)
    try {
      const { status, body } = this.api.respond(call)
      await this.#payFirst(call)
      if (this.#isLost(call)) throw new NoResponseError()
      const type = body.startsWith('<') ? 'text/html' : 'application/json'
      response.writeHead(status, { 'content-type': type, 'stripe-notice': 'Upgrade now!' })
      response.end(body)
    } catch (error) {
      if (!(error instanceof NoResponseError)) throw error
      request.socket.destroy()
    }
  }

  /** The address of the relay's notices is registered in Stripe's pages, and part of no call. */
  async #payFirst({ method, path, body }: StripeCall): Promise<void> {
    const isCreate = method === 'POST' && path === '/v1/checkout/sessions'
    if (this.faults.create !== 'notice-first' || !isCreate) return
    const form = new URLSearchParams(body)
    const order = form.get('client_reference_id') ?? ''
    if (this.payments.some((payment) => payment.order === order)) return
    this.pay(order)
    const relay = new URL(form.get('success_url') ?? '').origin
    await deliverNotice(relay, 'stripe', this.notice(order))
  }

  #isLost({ method, path }: StripeCall): boolean {
    if (this.faults.refund === 'timeout' && method === 'POST' && path === '/v1/refunds') return true
    this.lostResponses -= 1
    return this.lostResponses >= 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
