/** Orders at Stripe: a Checkout Session each, or a payment intent for the charge of a saved card. */
import { createHash } from 'node:crypto'
import type Stripe from 'stripe'
import { ProviderError } from './payment-method.ts'
import type { BegunOrder, OrderReading, PaymentFacts, ProviderOrder, SavedCard } from './payment-method.ts'
import { fromStripeAmount, toStripeAmount } from './stripe-amounts.ts'
import { idOf, type StripeClient, StripeKeyUsedError, StripeRejection } from './stripe-client.ts'

/** Stripe keeps idempotency keys, with the responses given under them, at least so long. */
const keyLifetimeMs = 24 * 3_600_000
/** How much the clocks of the relay and of Stripe may differ when payments are searched by their time. */
const clockToleranceSeconds = 300

/** What an intent is read with. */
export const chargeToExpand = 'latest_charge.balance_transaction'

type Found =
  | { readonly kind: 'session'; readonly session: Stripe.Checkout.Session }
  | { readonly kind: 'intent'; readonly intent: Stripe.PaymentIntent }
  | { readonly kind: 'none' }

export function merchantOf({ livemode }: { readonly livemode: boolean }): 'live' | 'test' {
  return livemode ? 'live' : 'test'
}

function chargeOf(intent: Stripe.PaymentIntent): Stripe.Charge | null {
  return typeof intent.latest_charge === 'string' ? null : intent.latest_charge
}

/** The time that bills state, so that both are in the same one. */
function paidAtOf(charge: Stripe.Charge | null): number | null {
  if (charge === null) return null
  const entry = charge.balance_transaction
  const seconds = entry === null || typeof entry === 'string' ? charge.created : entry.created
  return seconds * 1000
}

/** A card's fingerprint, or what other means of payment have in its place. */
function payerOf(charge: Stripe.Charge | null): string | null {
  const details = charge?.payment_method_details
  const means = details?.[details.type as 'card'] as { fingerprint?: unknown; buyer_id?: unknown } | undefined
  const identity = means?.fingerprint ?? means?.buyer_id
  return typeof identity === 'string' ? createHash('sha256').update(identity).digest('hex') : null
}

function savedCardOf(intent: Stripe.PaymentIntent): SavedCard | null {
  const customer = idOf(intent.customer)
  const card = idOf(intent.payment_method)
  const lastFour = chargeOf(intent)?.payment_method_details?.card?.last4
  const isComplete = customer !== null && card !== null && typeof lastFour === 'string'
  return isComplete && intent.setup_future_usage === 'off_session' ? { customer, card, lastFour } : null
}

/** `order`: the id that Stripe knows. `intent`: succeeded, with its charge. */
export function factsOf(
  intent: Stripe.PaymentIntent,
  order: string | null | undefined,
  savedCard: SavedCard | null,
): PaymentFacts {
  const charge = chargeOf(intent)
  const currency = intent.currency.toUpperCase()
  return {
    order: order ?? '',
    merchant: merchantOf(intent),
    currency,
    amountMinor: fromStripeAmount(intent.amount_received),
    transaction: intent.id,
    paidAt: paidAtOf(charge),
    payer: payerOf(charge),
    savedCard,
  }
}

function paid(
  order: ProviderOrder,
  intent: Stripe.PaymentIntent,
  id: string | null | undefined,
): OrderReading {
  return { state: 'paid', payment: factsOf(intent, id, order.savesCard ? savedCardOf(intent) : null) }
}

function sessionParams(order: ProviderOrder, amount: number): Stripe.Checkout.SessionCreateParams {
  const metadata = { order: order.id }
  return {
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: order.currency.toLowerCase(),
          unit_amount: amount,
          product_data: { name: order.description },
        },
      },
    ],
    client_reference_id: order.id,
    metadata,
    success_url: order.returnUrl,
    cancel_url: order.returnUrl,
    expires_at: Math.floor(order.expiresAt / 1000),
    // The payer pays in the currency of the order, or not at all.
    adaptive_pricing: { enabled: false },
    payment_intent_data: order.savesCard ? { metadata, setup_future_usage: 'off_session' } : { metadata },
    ...(order.savesCard && { customer_creation: 'always', allowed_payment_method_types: ['card'] }),
  }
}

const refusals: Readonly<Record<string, string>> = {
  amount_too_small: 'The amount is below Stripe’s minimum.',
  amount_too_large: 'The amount is above Stripe’s maximum.',
}

export class StripeOrders {
  readonly #client: StripeClient
  readonly #now: () => number

  constructor(client: StripeClient, now: () => number) {
    this.#client = client
    this.#now = now
  }

  async begin(order: ProviderOrder): Promise<BegunOrder> {
    const amount = toStripeAmount(order.amountMinor, order.currency)
    if (amount === null) {
      return { kind: 'refused', reason: `Stripe does not take this amount of ${order.currency}.` }
    }
    try {
      const session =
        order.reference === null ? await this.#create(order, amount) : await this.#session(order.reference)
      if (session.status !== 'open' || session.url === null) {
        throw new ProviderError('Stripe’s page of the order is no longer open.')
      }
      return { kind: 'begun', reference: session.id, pay: { kind: 'redirect', url: session.url } }
    } catch (error) {
      if (!(error instanceof StripeRejection) || order.reference !== null) throw error
      const reason = refusals[error.code] ?? `Stripe does not accept the order (${error.code}).`
      return { kind: 'refused', reason }
    }
  }

  async read(order: ProviderOrder): Promise<OrderReading> {
    const found = await this.#find(order)
    if (found.kind === 'intent') return this.#readIntent(order, found.intent)
    if (found.kind === 'session') return readSession(order, found.session)
    return this.#unpaid(order)
  }

  async close(order: ProviderOrder): Promise<'closed' | 'paid'> {
    const found = await this.#find(order)
    if (found.kind === 'none') return 'closed'
    const before = endOf(found)
    if (before !== null) return before
    try {
      await this.#client.call(async (stripe) => {
        const options = { idempotencyKey: `${order.id}-close-${this.#now()}` }
        if (found.kind === 'session') await stripe.checkout.sessions.expire(found.session.id, {}, options)
        else await stripe.paymentIntents.cancel(found.intent.id, {}, options)
      })
      return 'closed'
    } catch (error) {
      if (!(error instanceof StripeRejection)) throw error
      const after = endOf(await this.#find(order))
      if (after === null) throw error
      return after
    }
  }

  async #create(order: ProviderOrder, amount: number): Promise<Stripe.Checkout.Session> {
    return await this.#client.call((stripe) =>
      stripe.checkout.sessions.create(sessionParams(order, amount), { idempotencyKey: order.id }),
    )
  }

  async #session(id: string): Promise<Stripe.Checkout.Session> {
    return await this.#client.call((stripe) =>
      stripe.checkout.sessions.retrieve(id, { expand: [`payment_intent.${chargeToExpand}`] }),
    )
  }

  async #find(order: ProviderOrder): Promise<Found> {
    const { reference } = order
    if (reference?.startsWith('pi_') === true) {
      const intent = await this.#client.call((stripe) =>
        stripe.paymentIntents.retrieve(reference, { expand: [chargeToExpand] }),
      )
      return { kind: 'intent', intent }
    }
    if (reference !== null) return { kind: 'session', session: await this.#session(reference) }
    const isKeyKept = this.#now() < order.createdAt + keyLifetimeMs
    return isKeyKept && order.automatic !== true
      ? await this.#findByKey(order)
      : await this.#findByTime(order)
  }

  /** The response to the call that began the order was lost: the same call again, under the same key, gets it. */
  async #findByKey(order: ProviderOrder): Promise<Found> {
    const amount = toStripeAmount(order.amountMinor, order.currency)
    if (amount === null) return { kind: 'none' }
    try {
      const { id } = await this.#create(order, amount)
      return { kind: 'session', session: await this.#session(id) }
    } catch (error) {
      // Settings have changed since, such as PUBLIC_URL, and with them the call.
      if (error instanceof StripeKeyUsedError) return await this.#findByTime(order)
      // Had the order begun, Stripe would have repeated its response.
      if (error instanceof StripeRejection) return { kind: 'none' }
      throw error
    }
  }

  /** Payments name their order, and begin within its lifetime. */
  async #findByTime(order: ProviderOrder): Promise<Found> {
    const created = {
      gte: Math.floor(order.createdAt / 1000) - clockToleranceSeconds,
      lte: Math.ceil(order.expiresAt / 1000) + clockToleranceSeconds,
    }
    const intent = await this.#client.call(async (stripe) => {
      let first: Stripe.PaymentIntent | null = null
      const expand = [`data.${chargeToExpand}`]
      const intents = stripe.paymentIntents.list({ created, limit: 100, expand })
      for await (const candidate of intents) {
        if (candidate.metadata['order'] !== order.id) continue
        if (candidate.status === 'succeeded') return candidate
        first ??= candidate
      }
      return first
    })
    return intent === null ? { kind: 'none' } : { kind: 'intent', intent }
  }

  #unpaid(order: ProviderOrder): OrderReading {
    return { state: this.#now() > order.expiresAt ? 'closed' : 'unpaid' }
  }

  #readIntent(order: ProviderOrder, intent: Stripe.PaymentIntent): OrderReading {
    if (intent.status === 'succeeded') return paid(order, intent, intent.metadata['order'])
    if (intent.status === 'processing') return { state: 'processing' }
    if (intent.status === 'canceled') return { state: 'closed' }
    if (order.automatic !== true) return this.#unpaid(order)
    // Nobody is there to pay an automatic charge that failed. In any other state it is still being made.
    const hasFailed = intent.status === 'requires_payment_method' || intent.status === 'requires_action'
    return { state: hasFailed ? 'closed' : 'processing' }
  }
}

/** null: it can still be paid. */
function endOf(found: Found): 'closed' | 'paid' | null {
  if (found.kind === 'none') return 'closed'
  if (found.kind === 'session') {
    const { status } = found.session
    if (status === 'open') return null
    if (status === 'complete') return 'paid'
    if (status === 'expired') return 'closed'
    throw new ProviderError('Stripe’s session has an unknown state.')
  }
  if (found.intent.status === 'canceled') return 'closed'
  return found.intent.status === 'succeeded' || found.intent.status === 'processing' ? 'paid' : null
}

/** `complete` alone says that the payer has done their part: the money may come days later, or never. */
function readSession(order: ProviderOrder, session: Stripe.Checkout.Session): OrderReading {
  const end = endOf({ kind: 'session', session })
  if (end === null) return { state: 'unpaid' }
  if (end === 'closed') return { state: 'closed' }
  const intent = session.payment_intent
  if (intent === null || typeof intent === 'string') {
    throw new ProviderError('Stripe does not state the payment of a complete session.')
  }
  if (session.payment_status === 'paid') {
    if (intent.status !== 'succeeded') throw new ProviderError('Stripe contradicts itself about a payment.')
    return paid(order, intent, session.client_reference_id)
  }
  const hasFailed = intent.status === 'requires_payment_method' || intent.status === 'canceled'
  return { state: hasFailed ? 'closed' : 'processing' }
}
