/** Orders of payments and the methods that they use, in the JSON of the admin API and the console API. */
import { z } from '@hono/zod-openapi'
import type { MethodStatus } from '../../engine/payments/payment-service.ts'
import { formatMinor } from '../../lib/currency.ts'
import { formatAmount, formatFactor } from '../../lib/money.ts'
import { methodNames } from '../../payments/payment-method.ts'
import type { Order } from '../../payments/payment-orders.ts'
import { money, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

export const orderStates = ['created', 'pending', 'paid', 'expired', 'failed', 'canceled'] as const
export const paymentMethod = z.enum(methodNames)

const payInstruction = z.object({
  kind: z.enum(['redirect', 'qr', 'bank']),
  url: z.string().optional().meta({ description: 'Where the payer pays.' }),
  qr: z.string().optional().meta({ description: 'The text of a QR code.' }),
  text: z.string().optional().meta({ description: 'Where to send the money.' }),
})

/** Amounts and fees are in the order's currency, credit and bonus in the platform's. */
export const orderSchema = z
  .object({
    id: z.string(),
    account: z.string(),
    method: paymentMethod,
    product: z.string().nullable(),
    state: z.enum(orderStates),
    amount: money.meta({ description: 'What is to be paid, in the currency of the method.' }),
    currency: z.string(),
    fee: money.meta({ description: 'The part of the amount that is not credited.' }),
    credit: money.meta({ description: 'What is credited, in the platform’s currency.' }),
    bonus: money.meta({ description: 'What a promotion adds, in the platform’s currency.' }),
    automatic: z.boolean().meta({ description: 'An automatic recharge: a saved card is charged.' }),
    pay: payInstruction.nullable().meta({ description: 'null: the provider has not responded yet.' }),
    problem: z.string().nullable().meta({ description: 'Why the provider refused the order.' }),
    created_at: time,
    expires_at: time,
    paid_at: time.nullable(),
    transaction: z.string().nullable().meta({ description: 'The provider’s number of the payment.' }),
  })
  .openapi('PaymentOrder')
export type PaymentOrder = z.infer<typeof orderSchema>

/** `transaction`: of the payment, if the order is paid. */
export function serializeOrder(order: Order, transaction: string | null): PaymentOrder {
  const { currency } = order
  return {
    id: order.id,
    account: order.accountId,
    method: order.method,
    product: order.product,
    state: order.state,
    amount: formatMinor(order.amountMinor, currency),
    currency,
    fee: formatMinor(order.feeMinor, currency),
    credit: formatAmount(order.creditNanos),
    bonus: formatAmount(order.bonusNanos),
    automatic: order.automatic,
    pay: order.pay,
    problem: order.problem,
    created_at: formatTime(order.createdAt),
    expires_at: formatTime(order.expiresAt),
    paid_at: formatTime(order.paidAt),
    transaction,
  }
}

export const methodSchema = z
  .object({
    method: paymentMethod,
    configured: z.boolean(),
    checked_at: time.nullable(),
    problem: z.string().optional().meta({ description: 'Why it is not offered.' }),
    currency: z.string().nullable(),
    products: z.array(z.string()),
    min: money.nullable(),
    max: money.nullable(),
    fee: z
      .object({ percent: z.string(), fixed: money })
      .nullable()
      .meta({ description: 'In percent of the amount, and in the method’s currency.' }),
    saves_cards: z.boolean().meta({ description: 'Whether a card can be saved for automatic recharges.' }),
  })
  .openapi('PaymentMethod')
export type PaymentMethodJson = z.infer<typeof methodSchema>

export function serializeMethod(status: MethodStatus): PaymentMethodJson {
  const { method, currency, products, fee, checkedAt, problem } = status
  return {
    method,
    configured: true,
    checked_at: formatTime(checkedAt),
    ...(problem === null ? {} : { problem }),
    currency,
    products: [...products],
    min: formatMinor(status.minMinor, currency),
    max: formatMinor(status.maxMinor, currency),
    fee: fee && { percent: formatFactor(fee.percentPpm * 100), fixed: fee.fixed },
    saves_cards: status.savesCards,
  }
}

/** A method without its settings. */
export function unconfiguredMethod(method: PaymentMethodJson['method']): PaymentMethodJson {
  return {
    method,
    configured: false,
    checked_at: null,
    currency: null,
    products: [],
    min: null,
    max: null,
    fee: null,
    saves_cards: false,
  }
}

/** Fields of a new order. */
export const orderFields = {
  method: paymentMethod,
  product: z.string().max(40).optional(),
  amount: money.meta({ description: 'What is to be paid, with the fee, in the currency of the method.' }),
  client_key: z.string().min(1).max(200).optional().meta({
    description: 'Repeating it returns the same order; a double click never makes two.',
  }),
}
