/** A row of an order for tests. */
import { newOrderId, type Order } from './payment-orders.ts'

/** An order of 10.00 by card, without a bonus, that awaits its payment. `accountId`: who ordered it. */
export function orderRow(fields: Partial<Order> & Pick<Order, 'accountId' | 'createdAt'>): Order {
  return {
    id: newOrderId(),
    orderedBy: 'user',
    method: 'stripe',
    merchant: 'test',
    product: null,
    currency: 'CNY',
    amountMinor: 1000n,
    feeMinor: 0n,
    ratePpm: 1_000_000,
    creditNanos: 10_000_000_000n,
    bonusNanos: 0n,
    promotionId: null,
    state: 'pending',
    reference: null,
    pay: null,
    problem: null,
    confirmation: null,
    clientKey: null,
    expiresAt: fields.createdAt + 1,
    nextCheckAt: null,
    checks: 0,
    updatedAt: fields.createdAt,
    paidAt: null,
    savesCard: false,
    automatic: false,
    ...fields,
  }
}
