/** What all parts of payments on the main thread use. */
import type { Config } from '../../config.ts'
import { apiError, invalidField } from '../../errors.ts'
import type { Change } from '../../db/change.ts'
import type { Log } from '../../lib/log.ts'
import type { Order } from '../../payments/payment-orders.ts'
import type { MethodName, PaymentMethod, ProviderOrder } from '../../payments/payment-method.ts'
import type { PaymentMethods } from '../../payments/payment-methods.ts'
import type { Credits } from '../credits.ts'
import type { OrderBonus } from './order-bonus.ts'
import type { SettleDeps } from './settle-order.ts'

export interface PaymentDeps extends SettleDeps {
  readonly config: Config
  readonly methods: PaymentMethods
  /** The public URL of the relay, without a slash at its end. */
  readonly publicUrl: string
  readonly log: Log
  readonly credits: Pick<Credits, 'takeBack' | 'enterWithId'>
  /** By account, of those with open holds: the balance less what is held. */
  readonly availableUnderHolds: () => Promise<ReadonlyMap<string, bigint>>
  /** The promotion that applies to a recharge of this account. */
  readonly bonusFor: (account: string, creditNanos: bigint, at: number) => Promise<OrderBonus>
  /** Resolves when every thread has applied the changes. */
  readonly publishChanges: (changes: readonly Change[]) => Promise<void>
}

/** Throws 404 if the method is not configured. */
export function requireMethod({ methods }: Pick<PaymentDeps, 'methods'>, name: string): PaymentMethod {
  const method = methods.get(name as MethodName)
  if (method === undefined) throw apiError('not_found', { message: 'This payment method is not configured.' })
  return method
}

/** The method of an order that exists. Throws 409 if it is no longer configured. */
export function methodOf(
  { methods }: Pick<PaymentDeps, 'methods'>,
  order: Pick<Order, 'method'>,
): PaymentMethod {
  const method = methods.get(order.method)
  if (method !== undefined) return method
  throw apiError('conflict', { message: `The payment method ${order.method} is not configured.` })
}

/** The method of an order that a caller wants to make. Throws 400 naming `method`. */
export function methodForOrder({ methods }: Pick<PaymentDeps, 'methods'>, name: string): PaymentMethod {
  const method = methods.get(name as MethodName)
  if (method !== undefined) return method
  const offered = [...methods.keys()].join(', ')
  throw invalidField('method', `is not configured; configured: ${offered === '' ? 'none' : offered}`)
}

/** An order in the terms of its provider. */
export function providerOrderOf(
  { publicUrl }: Pick<PaymentDeps, 'publicUrl'>,
  order: Order,
  transaction: string | null = null,
): ProviderOrder {
  const {
    id,
    method,
    product,
    amountMinor,
    currency,
    createdAt,
    expiresAt,
    savesCard,
    automatic,
    reference,
  } = order
  return {
    id,
    product,
    amountMinor,
    currency,
    description: 'Balance',
    createdAt,
    expiresAt,
    noticeUrl: method === 'bank' ? null : `${publicUrl}/api/payments/${method}/notice`,
    returnUrl: `${publicUrl}/console/billing/orders/${id}`,
    savesCard,
    automatic,
    reference,
    transaction,
  }
}
