/** Refunds at Stripe, found again by our number in their metadata. */
import type Stripe from 'stripe'
import type { NamedRefund, ProviderRefund, RefundFacts, RefundReading } from './payment-method.ts'
import { movedBy, toStripeAmount } from './stripe-amounts.ts'
import { type StripeClient, StripeRejection } from './stripe-client.ts'

export const hasFailed = ({ status }: Stripe.Refund): boolean => status === 'failed' || status === 'canceled'

function readingOf(refund: Stripe.Refund): RefundReading {
  switch (refund.status) {
    case 'succeeded':
      return { state: 'done', reference: refund.id }
    case 'pending':
    case 'requires_action':
      return { state: 'sent', reference: refund.id }
    case 'failed':
    case 'canceled':
      return {
        state: 'refused',
        reason: `The refund has failed (${refund.failure_reason ?? refund.status}).`,
      }
    default:
      return { state: 'unclear', reason: 'Stripe states no known state of the refund.' }
  }
}

const refusals: Readonly<Record<string, string>> = {
  charge_already_refunded: 'The payment has already been refunded.',
  charge_disputed: 'The payer disputes the payment.',
}

export class StripeRefunds {
  readonly #client: StripeClient

  constructor(client: StripeClient) {
    this.#client = client
  }

  /** Looks for the refund first: Stripe forgets idempotency keys after 24 hours, and would then refund again. */
  async refund(refund: ProviderRefund): Promise<RefundReading> {
    const known = await this.readRefund(refund)
    return known.state === 'absent' ? await this.#create(refund) : known
  }

  async readRefund({ id, order }: ProviderRefund): Promise<RefundReading> {
    const { transaction } = order
    if (transaction === null) return { state: 'absent' }
    const found = await this.#client.call(async (stripe) => {
      for await (const refund of stripe.refunds.list({ payment_intent: transaction, limit: 100 })) {
        if (refund.metadata?.['refund'] === id) return refund
      }
      return null
    })
    return found === null ? { state: 'absent' } : readingOf(found)
  }

  async readNamed({ reference }: NamedRefund): Promise<RefundFacts | null> {
    const refund = await this.#client.call((stripe) => stripe.refunds.retrieve(reference))
    return hasFailed(refund) ? null : movedBy(refund)
  }

  async #create({ id, order, amountMinor }: ProviderRefund): Promise<RefundReading> {
    const amount = toStripeAmount(amountMinor, order.currency)
    if (order.transaction === null || amount === null) {
      return { state: 'refused', reason: 'Stripe cannot refund this amount.' }
    }
    const params: Stripe.RefundCreateParams = {
      payment_intent: order.transaction,
      amount,
      reason: 'requested_by_customer',
      metadata: { refund: id, order: order.id },
    }
    try {
      return readingOf(
        await this.#client.call((stripe) => stripe.refunds.create(params, { idempotencyKey: id })),
      )
    } catch (error) {
      if (!(error instanceof StripeRejection)) throw error
      return {
        state: 'refused',
        reason: refusals[error.code] ?? `Stripe does not accept the refund (${error.code}).`,
      }
    }
  }
}
