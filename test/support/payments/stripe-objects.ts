/** What the scripted Stripe remembers, and how the real one writes it. */
export type Json = Readonly<Record<string, unknown>>

export interface StripeIntent {
  readonly id: string
  readonly order: string | null
  readonly isAutomatic: boolean
  readonly livemode: boolean
  readonly created: number
  amount: number
  currency: string
  status: 'requires_payment_method' | 'processing' | 'succeeded' | 'canceled'
  readonly customer: string | null
  readonly card: string | null
  readonly isSaved: boolean
  /** When the money was entered into the merchant's balance, in seconds; null: not yet. */
  entered: number | null
}

export interface StripeSession {
  readonly id: string
  readonly order: string
  readonly created: number
  readonly expiresAt: number
  readonly amount: number
  readonly currency: string
  readonly savesCard: boolean
  readonly returnUrl: string
  status: 'open' | 'complete' | 'expired'
  intent: StripeIntent | null
}

export interface StripeRefund {
  readonly id: string
  /** The relay's number; null: made in Stripe's own pages. */
  readonly refund: string | null
  readonly intent: StripeIntent
  readonly amount: number
  readonly created: number
  status: string
}

export interface StripeDispute {
  readonly id: string
  readonly intent: StripeIntent
  readonly created: number
  status: string
}

export interface BalanceEntry {
  readonly id: string
  readonly type: string
  readonly amount: number
  readonly fee: number
  readonly currency: string
  readonly created: number
  readonly source: () => Json
}

export function intentJson(intent: StripeIntent): Json {
  return {
    id: intent.id,
    object: 'payment_intent',
    livemode: intent.livemode,
    created: intent.created,
    amount: intent.amount,
    amount_received: intent.status === 'succeeded' ? intent.amount : 0,
    currency: intent.currency,
    status: intent.status,
    customer: intent.customer,
    payment_method: intent.card,
    setup_future_usage: intent.isSaved ? 'off_session' : null,
    metadata: metadataOf(intent),
    latest_charge: intent.status === 'requires_payment_method' ? null : chargeJson(intent),
  }
}

function metadataOf({ order, isAutomatic }: StripeIntent): Json {
  return { ...(order !== null && { order }), ...(isAutomatic && { automatic: 'true' }) }
}

export function chargeJson(intent: StripeIntent): Json {
  return {
    id: `ch_${intent.id}`,
    object: 'charge',
    livemode: intent.livemode,
    created: intent.created,
    amount: intent.amount,
    amount_captured: intent.amount,
    currency: intent.currency,
    payment_intent: intent.id,
    balance_transaction: intent.entered === null ? null : { created: intent.entered },
    metadata: metadataOf(intent),
    billing_details: { name: 'Erika Mustermann', email: 'erika@payer.example' },
    payment_method_details: { type: 'card', card: { fingerprint: 'Xt5EWLLDS7FJjR1c', last4: '4242' } },
  }
}

export function sessionJson(session: StripeSession, isExpanded: boolean): Json {
  const { intent } = session
  return {
    id: session.id,
    object: 'checkout.session',
    livemode: intent?.livemode ?? false,
    created: session.created,
    expires_at: session.expiresAt,
    amount_total: intent?.amount ?? session.amount,
    currency: intent?.currency ?? session.currency,
    client_reference_id: session.order,
    metadata: { order: session.order },
    status: session.status,
    payment_status: intent?.status === 'succeeded' ? 'paid' : 'unpaid',
    payment_intent: intent === null || !isExpanded ? (intent?.id ?? null) : intentJson(intent),
    url: session.status === 'open' ? `https://checkout.stripe.com/c/pay/${session.id}` : null,
  }
}

export function refundJson(refund: StripeRefund): Json {
  return {
    id: refund.id,
    object: 'refund',
    created: refund.created,
    amount: refund.amount,
    currency: refund.intent.currency,
    payment_intent: refund.intent.id,
    charge: `ch_${refund.intent.id}`,
    metadata: refund.refund === null ? {} : { refund: refund.refund },
    status: refund.status,
    ...(refund.status === 'failed' && { failure_reason: 'lost_or_stolen_card' }),
  }
}

export function disputeJson(dispute: StripeDispute): Json {
  return {
    id: dispute.id,
    object: 'dispute',
    livemode: dispute.intent.livemode,
    created: dispute.created,
    amount: dispute.intent.amount,
    currency: dispute.intent.currency,
    payment_intent: dispute.intent.id,
    charge: `ch_${dispute.intent.id}`,
    status: dispute.status,
  }
}

export function balanceJson(entry: BalanceEntry): Json {
  const { id, type, amount, fee, currency, created, source } = entry
  return { id, object: 'balance_transaction', type, amount, fee, currency, created, source: source() }
}

/** Newest first, `limit` at a time, after the one that the caller has seen last. */
export function pageOf(all: readonly Json[], query: URLSearchParams, pageSize: number): Json {
  const [from, to] = [Number(query.get('created[gte]') ?? 0), Number(query.get('created[lte]') ?? Infinity)]
  const end = Number(query.get('created[lt]') ?? Infinity)
  const intent = query.get('payment_intent')
  const listed = all
    .filter(({ created }) => Number(created) >= from && Number(created) <= to && Number(created) < end)
    .filter(({ payment_intent: of }) => intent === null || of === intent)
    .toReversed()
  const after = listed.findIndex(({ id }) => id === query.get('starting_after')) + 1
  const limit = Math.min(Number(query.get('limit') ?? 10), pageSize)
  const data = listed.slice(after, after + limit)
  return { object: 'list', url: '/v1/list', data, has_more: after + limit < listed.length }
}
