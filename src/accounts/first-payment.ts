/**
 * The effect of an account's first payment: the account moves to another tier if its tier names one
 * (`after_payment`). This happens once, so that an operator can move the account back.
 */
import { auditStatement } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import { expectChanges, type Db } from '../db/db.ts'
import type { Statement } from '../db/statement.ts'
import { sql } from '../db/schema/schema.ts'
import { isExpectationFailureOf } from '../db/store-error.ts'

export interface TierChange {
  readonly from: string
  readonly to: string
}

/**
 * Records an account's first payment. The value is the change of tier, if any. `extraStatements` returns what
 * to write in the same batch if the tier changes.
 */
export async function recordFirstPayment(
  db: Db,
  accountId: string,
  extraStatements: (change: TierChange) => Statement[],
): Promise<Changed<TierChange | null>> {
  for (;;) {
    const row = await db.first(
      sql
        .selectFrom('accounts')
        .innerJoin('tiers', 'tiers.name', 'accounts.tier')
        .select(['accounts.tier', 'tiers.after_payment'])
        .where('accounts.id', '=', accountId)
        .where('accounts.first_paid_at', 'is', null),
    )
    if (row === undefined) return { value: null, changes: [] }
    const { tier: from, after_payment: next } = row
    const change = next === null || next === from ? null : { from, to: next }
    const now = Date.now()
    const update = sql
      .updateTable('accounts')
      .set({ first_paid_at: now, tier: change?.to ?? from, updated_at: now })
      .where('id', '=', accountId)
      .where('first_paid_at', 'is', null)
      .where('tier', '=', from)
    const rows =
      change === null
        ? []
        : [auditStatement('first-payment', 'account.update', accountId, change), ...extraStatements(change)]
    try {
      await db.write(expectChanges(update, 1), ...rows)
      return { value: change, changes: [{ kind: 'account', id: accountId }] }
    } catch (error) {
      // Another call recorded it or changed the tier: try again.
      if (!isExpectationFailureOf(error, 0)) throw error
    }
  }
}
