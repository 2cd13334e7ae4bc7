/** The scripted Stripe without HTTP: what its calls do, and what payers and merchants do in its pages. */
import { randomBytes } from 'node:crypto'
import {
  chargeJson,
  disputeJson,
  refundJson,
  type BalanceEntry,
  type Json,
  type StripeDispute,
  type StripeIntent,
  type StripeRefund,
  type StripeSession,
} from './stripe-objects.ts'
import type { GenuinePayment, PaymentChanges } from './scripted-provider.ts'

/** A response as Stripe's API gives it when it rejects a call. */
export class StripeCallError extends Error {
  readonly status: number
  readonly fields: Json

  constructor(status: number, fields: Json) {
    super(String(fields['code'] ?? fields['type']))
    this.status = status
    this.fields = { type: 'invalid_request_error', message: 'Rejected.', ...fields }
  }
}

const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`
const halfHour = 1800

export class StripeState {
  readonly sessions: StripeSession[] = []
  readonly intents: StripeIntent[] = []
  readonly refunds: StripeRefund[] = []
  readonly disputes: StripeDispute[] = []
  readonly balance: BalanceEntry[] = []
  readonly detached: string[] = []
  /** Rejects to detach cards. */
  keepsCards = false
  /** What happens to saved cards: `succeeded`, `processing`, or the code of a decline. */
  cardOutcome = 'succeeded'
  /** The smallest amount of an order. */
  minimum = 1
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get seconds(): number {
    return Math.floor(this.#now() / 1000)
  }

  createSession(form: URLSearchParams): StripeSession {
    const price = 'line_items[0][price_data]'
    const amount = Number(form.get(`${price}[unit_amount]`))
    const expiresAt = Number(form.get('expires_at'))
    const [expiry, now] = [expiresAt - this.seconds, this.seconds]
    if (expiry < halfHour || expiry > 86_400) throw new StripeCallError(400, { param: 'expires_at' })
    if (amount < this.minimum) throw new StripeCallError(400, { code: 'amount_too_small' })
    if (form.get('mode') !== 'payment' || form.get('adaptive_pricing[enabled]') !== 'false') {
      throw new StripeCallError(400, { code: 'parameter_missing' })
    }
    const order = form.get('client_reference_id') ?? ''
    const isNamed = ['metadata[order]', 'payment_intent_data[metadata][order]'].every(
      (field) => form.get(field) === order,
    )
    if (!isNamed) throw new StripeCallError(400, { code: 'parameter_missing', param: 'metadata' })
    const session: StripeSession = {
      id: newId('cs_test'),
      order,
      created: now,
      expiresAt,
      amount,
      currency: form.get(`${price}[currency]`) ?? '',
      savesCard: form.get('payment_intent_data[setup_future_usage]') === 'off_session',
      returnUrl: form.get('success_url') ?? '',
      status: 'open',
      intent: null,
    }
    this.sessions.push(session)
    return session
  }

  session(id: string): StripeSession {
    const session = this.sessions.find((known) => known.id === id)
    if (session === undefined) throw new StripeCallError(404, { code: 'resource_missing', param: 'session' })
    if (session.status === 'open' && session.expiresAt <= this.seconds) session.status = 'expired'
    return session
  }

  expire(session: StripeSession): void {
    if (session.status !== 'open') throw new StripeCallError(400, {})
    session.status = 'expired'
  }

  intent(id: string): StripeIntent {
    const intent = this.intents.find((known) => known.id === id)
    if (intent === undefined) throw new StripeCallError(404, { code: 'resource_missing', param: 'intent' })
    return intent
  }

  chargeCard(form: URLSearchParams): StripeIntent {
    const [customer, card] = [form.get('customer'), form.get('payment_method')]
    const rules = {
      off_session: 'true',
      confirm: 'true',
      'automatic_payment_methods[enabled]': 'true',
      'automatic_payment_methods[allow_redirects]': 'never',
    }
    for (const [param, value] of Object.entries(rules)) {
      if (form.get(param) !== value) throw new StripeCallError(400, { param })
    }
    if (card === null || this.detached.includes(card)) {
      throw new StripeCallError(400, { param: 'payment_method' })
    }
    const intent: StripeIntent = {
      id: newId('pi'),
      order: form.get('metadata[order]'),
      isAutomatic: true,
      livemode: false,
      created: this.seconds,
      amount: Number(form.get('amount')),
      currency: form.get('currency') ?? '',
      status: 'requires_payment_method',
      customer,
      card,
      isSaved: false,
      entered: null,
    }
    this.intents.push(intent)
    if (this.cardOutcome === 'succeeded') this.#succeed(intent)
    else if (this.cardOutcome === 'processing') intent.status = 'processing'
    else this.#decline()
    return intent
  }

  cardJson(card: string): Json {
    const intent = this.intents.find((known) => known.card === card)
    if (intent === undefined) {
      throw new StripeCallError(404, { code: 'resource_missing', param: 'payment_method' })
    }
    const customer = this.detached.includes(card) ? null : intent.customer
    return { id: card, object: 'payment_method', customer }
  }

  /** Stripe’s message says whether the card is attached; no code does. */
  detachCard(card: string): Json {
    const { customer } = this.cardJson(card)
    if (this.keepsCards || customer === null) throw new StripeCallError(400, {})
    this.detached.push(card)
    return this.cardJson(card)
  }

  #decline(): never {
    const code = this.cardOutcome
    const isForPayer = code === 'authentication_required'
    throw new StripeCallError(402, {
      type: 'card_error',
      code: isForPayer ? code : 'card_declined',
      decline_code: code,
    })
  }

  pay(order: string, changes: PaymentChanges = {}): StripeIntent {
    const session = this.sessions.findLast((known) => known.order === order)
    const amount = changes.amountMinor ?? (session === undefined ? null : BigInt(session.amount))
    if (amount === null) throw new Error(`Stripe knows no order ${order}`)
    const pending = session?.intent?.status === 'processing' ? session.intent : null
    const intent = pending ?? this.#newIntent(order, session, changes)
    // Stripe has no coupons of its own, and the relay's pages take no promotion codes.
    intent.amount = Number(amount)
    if (changes.currency !== undefined) intent.currency = changes.currency.toLowerCase()
    if (session !== undefined) {
      session.status = 'complete'
      session.intent ??= intent
    }
    this.#succeed(intent)
    return intent
  }

  #newIntent(order: string, session: StripeSession | undefined, changes: PaymentChanges): StripeIntent {
    const intent: StripeIntent = {
      id: changes.transaction ?? newId('pi'),
      order,
      isAutomatic: false,
      livemode: changes.merchant !== undefined && changes.merchant !== 'test',
      created: this.seconds,
      amount: 0,
      currency: session?.currency ?? 'cny',
      status: 'processing',
      customer: session?.savesCard === true ? newId('cus') : null,
      card: newId('pm'),
      isSaved: session?.savesCard === true,
      entered: null,
    }
    this.intents.push(intent)
    return intent
  }

  process(order: string): void {
    const session = this.sessions.findLast((known) => known.order === order)
    if (session === undefined) throw new Error(`Stripe knows no order ${order}`)
    session.status = 'complete'
    session.intent = this.#newIntent(order, session, {})
    session.intent.amount = session.amount
  }

  #succeed(intent: StripeIntent): void {
    intent.status = 'succeeded'
    intent.entered = this.seconds
    this.#enter('charge', intent, intent.amount, () => chargeJson(intent))
  }

  refund(intent: StripeIntent, amount: number, refund: string | null, status: string): StripeRefund {
    const left = intent.amount - this.refundedOf(intent)
    if (intent.status !== 'succeeded') throw new StripeCallError(400, {})
    if (left === 0) throw new StripeCallError(400, { code: 'charge_already_refunded' })
    if (amount > left || amount < 1) throw new StripeCallError(400, { param: 'amount' })
    const made = { id: newId('re'), refund, intent, amount, created: this.seconds, status }
    this.refunds.push(made)
    this.#enter('refund', intent, -amount, () => refundJson(made))
    return made
  }

  refundedOf(intent: StripeIntent): number {
    return this.refunds
      .filter((refund) => refund.intent === intent && refund.status !== 'failed')
      .reduce((sum, { amount }) => sum + amount, 0)
  }

  dispute(intent: StripeIntent, status: string): StripeDispute {
    const dispute = { id: newId('dp'), intent, created: this.seconds, status }
    this.disputes.push(dispute)
    if (!status.startsWith('warning_')) {
      this.#enter('adjustment', intent, -intent.amount, () => disputeJson(dispute))
    }
    return dispute
  }

  #enter(type: string, intent: StripeIntent, amount: number, source: () => Json): void {
    const fee = amount > 0 ? Math.ceil(amount * 0.029) + 30 : 0
    const { currency } = intent
    this.balance.push({ id: newId('txn'), type, amount, fee, currency, created: this.seconds, source })
  }

  get payments(): GenuinePayment[] {
    return this.intents
      .filter(({ status }) => status === 'succeeded')
      .map((intent) => ({
        order: intent.order ?? '',
        transaction: intent.id,
        amountMinor: BigInt(intent.amount),
        refundedMinor: BigInt(this.refundedOf(intent)),
      }))
  }
}
