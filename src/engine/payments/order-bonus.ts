/** The bonus of an order: chosen and frozen when it is made, and confirmed when it is paid. */
import type { Db } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import type { Order } from '../../payments/payment-orders.ts'
import { bestBonus, type Recharge } from '../../payments/recharge-promotions.ts'
import { insertBonus, useBudget } from '../../payments/recharge-bonuses.ts'

export interface OrderBonus {
  readonly promotionId: string | null
  readonly nanos: bigint
  /** What reserves it, in the batch that writes the order. */
  reserve(order: Order): readonly Statement[]
}

const noBonus: OrderBonus = { promotionId: null, nanos: 0n, reserve: () => [] }

/** The largest bonus that a promotion gives this recharge now. */
export async function bonusFor(db: Db, recharge: Recharge): Promise<OrderBonus> {
  const best = await bestBonus(db, recharge)
  if (best === undefined) return noBonus
  const { promotion, nanos } = best
  return {
    promotionId: promotion.id,
    nanos,
    reserve: ({ id }) => {
      const bonus = {
        order_id: id,
        promotion_id: promotion.id,
        account_id: recharge.account,
        amount_nanos: nanos,
        first_only: promotion.firstOnly,
        state: 'reserved',
      } as const
      return [useBudget(bonus, recharge.at), insertBonus(bonus, promotion.perAccountNanos)]
    },
  }
}
