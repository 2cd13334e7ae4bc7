/** Payments, refunds and disputes from Stripe's balance transactions: what has moved the balance of the merchant. */
import type Stripe from 'stripe'
import type { BillLine, Bills } from './payment-method.ts'
import { fromStripeAmount, movedBy } from './stripe-amounts.ts'
import { idOf, type StripeClient } from './stripe-client.ts'
import { hasFailed } from './stripe-refunds.ts'

function chargeLine(transaction: Stripe.BalanceTransaction, charge: Stripe.Charge): BillLine {
  const currency = charge.currency.toUpperCase()
  return {
    kind: 'payment',
    order: charge.metadata['order'] ?? null,
    transaction: idOf(charge.payment_intent) ?? charge.id,
    currency,
    amountMinor: fromStripeAmount(charge.amount_captured),
    // Stripe states fees in the currency of the payout.
    feeMinor: transaction.currency === charge.currency ? fromStripeAmount(transaction.fee) : null,
    at: transaction.created * 1000,
  }
}

function refundLine(transaction: Stripe.BalanceTransaction, refund: Stripe.Refund): BillLine | null {
  // A refund that fails later stays in the list, with a second transaction that reverses it.
  if (hasFailed(refund)) return null
  return {
    kind: 'refund',
    refund: refund.metadata?.['refund'] ?? null,
    reference: refund.id,
    ...movedBy(refund),
    at: transaction.created * 1000,
  }
}

function disputeLine(transaction: Stripe.BalanceTransaction, dispute: Stripe.Dispute): BillLine | null {
  // The money of a dispute that is won comes back in a second transaction.
  if (transaction.amount >= 0) return null
  return { kind: 'dispute', reference: dispute.id, ...movedBy(dispute), at: transaction.created * 1000 }
}

function lineOf(transaction: Stripe.BalanceTransaction): BillLine | null {
  const { source } = transaction
  if (source === null || typeof source === 'string') return null
  if (source.object === 'charge') return chargeLine(transaction, source)
  if (source.object === 'refund') return refundLine(transaction, source)
  return source.object === 'dispute' ? disputeLine(transaction, source) : null
}

export class StripeBills implements Bills {
  readonly timezone = 'UTC'
  readonly listsRefunds = true
  readonly includesToday = true
  readonly #client: StripeClient

  constructor(client: StripeClient) {
    this.#client = client
  }

  async *list(from: string, to: string): AsyncIterable<BillLine> {
    const created = {
      gte: Date.parse(`${from}T00:00:00Z`) / 1000,
      lt: Date.parse(`${to}T00:00:00Z`) / 1000 + 86_400,
    }
    for (let after: string | undefined; ;) {
      const params: Stripe.BalanceTransactionListParams = { created, limit: 100, expand: ['data.source'] }
      if (after !== undefined) params.starting_after = after
      const page = await this.#client.call((stripe) => stripe.balanceTransactions.list(params))
      for (const transaction of page.data) {
        const line = lineOf(transaction)
        if (line !== null) yield line
      }
      const last = page.data.at(-1)
      if (!page.has_more || last === undefined) return
      after = last.id
    }
  }
}
