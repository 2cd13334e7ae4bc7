/** The bonus of an order: chosen and frozen when it is made, and confirmed when it is paid. */
import type { Statement } from '../../db/statement.ts'
import type { Order } from '../../payments/payment-orders.ts'

export interface OrderBonus {
  readonly promotionId: string | null
  readonly nanos: bigint
  /** What reserves it, in the batch that writes the order. */
  reserve(order: Order): readonly Statement[]
}

export const noBonus: OrderBonus = { promotionId: null, nanos: 0n, reserve: () => [] }
