/** Notifies the operators about promotions. */
import type { Db } from '../db/db.ts'
import { operatorAudience } from './notification-kinds.ts'
import { raiseNotification } from './notifications.ts'

interface UsedUpPromotion {
  readonly id: string
  readonly name: string
  readonly granted: number
  readonly grantsMax: number | null
}

/** Once for each maximum: a promotion whose maximum was raised can be used up again. */
export async function notifyPromotionUsedUp(db: Db, promotion: UsedUpPromotion): Promise<void> {
  const { id, name, granted, grantsMax } = promotion
  await raiseNotification(db, {
    audience: operatorAudience,
    kind: 'promotion',
    severity: 'warning',
    subject: `promotion:${id}`,
    period: `used up:${grantsMax}`,
    code: 'promotion_used_up',
    params: { promotion: name, grants: String(granted) },
  })
}
