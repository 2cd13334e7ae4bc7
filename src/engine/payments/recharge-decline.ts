/** What follows from an automatic recharge that was not paid: a later attempt, a pause, or the end of a card that is gone. */
import { accountById } from '../../accounts/accounts.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { expectChanges, type Query } from '../../db/db.ts'
import {
  endAttempt,
  forgetCard,
  patchIfOn,
  type AutomaticRecharge,
} from '../../payments/automatic-recharges.ts'
import { openStates, orderById, updateOrder, type Order } from '../../payments/payment-orders.ts'
import { releaseBonus } from '../../payments/recharge-bonuses.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { rechargeNotification, type RechargeProblem } from './recharge-notifications.ts'

const hour = 3_600_000
/** After the first and the second decline; after the third it pauses. */
const retryAfterMs = [hour, 24 * hour]

export interface Decline {
  readonly order: Order
  /** The provider's, such as `insufficient_funds`, or `not_completed`. */
  readonly code: string
  readonly needsPayer: boolean
}

export async function recordDecline(
  deps: PaymentDeps,
  recharge: AutomaticRecharge,
  decline: Decline,
): Promise<void> {
  const { db, now } = deps
  const { order } = decline
  const at = now()
  const account = await accountById(db, recharge.accountId)
  const { update, ...problem } = consequenceOf(recharge, decline, at)
  const notification = rechargeNotification(deps, recharge, {
    ...problem,
    period: order.id,
    timezone: account?.timezone ?? 'UTC',
  })
  try {
    await db.write(
      ...endUnpaid(decline, at),
      endAttempt(recharge.accountId, order.id, at),
      update,
      ...(recharge.state === 'on' ? [notification] : []),
    )
  } catch (error) {
    // Paid in the meantime, or another call was faster.
    if (!isExpectationFailure(error)) throw error
    const current = await orderById(db, order.id)
    if (current === undefined || !openStates.includes(order.state)) return
    // A check has ended the order: only what follows from the decline is missing.
    if (current.state !== 'paid' && !openStates.includes(current.state))
      await recordDecline(deps, recharge, { ...decline, order: current })
  }
}

interface Consequence extends Pick<RechargeProblem, 'code' | 'nextAttemptAt'> {
  readonly update: Query
}

function consequenceOf(recharge: AutomaticRecharge, { code, needsPayer }: Decline, at: number): Consequence {
  const { accountId } = recharge
  // Whatever else the payer is needed for, this card is of no use any more.
  if (needsPayer && code !== 'authentication_required')
    return { code: 'recharge_card_removed', update: forgetCard(recharge, 'card_removed', at) }
  const waitMs = needsPayer ? undefined : retryAfterMs[recharge.failures]
  const outcome = { problem: code, failures: recharge.failures + 1 }
  if (waitMs === undefined)
    return {
      code: needsPayer ? 'recharge_needs_payer' : 'recharge_paused',
      update: patchIfOn(accountId, { ...outcome, state: 'paused', nextAttemptAt: null }, at),
    }
  const nextAttemptAt = at + waitMs
  return {
    code: 'recharge_declined',
    nextAttemptAt,
    update: patchIfOn(accountId, { ...outcome, nextAttemptAt }, at),
  }
}

/** An order that a check has ended stays as it is. */
function endUnpaid({ order, code }: Decline, at: number): Query[] {
  if (!openStates.includes(order.state)) return []
  const patch = { state: 'failed', problem: `The card was declined (${code}).`, nextCheckAt: null } as const
  return [expectChanges(updateOrder(order.id, openStates, patch, at), 1), ...releaseBonus(order)]
}
