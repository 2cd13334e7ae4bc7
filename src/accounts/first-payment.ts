/**
 * What the first payment of an account changes: its tier, where its tier names a successor (`after_payment`). It is
 * noted once, so that an operator may move the account back.
 */
import { auditRow } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import { expecting, type Db } from '../db/db.ts'
import type { Statement } from '../db/messages.ts'
import { sql } from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'

export interface TierChange {
  readonly from: string
  readonly to: string
}

/**
 * Notes an account's first payment; the value is the change of its tier, if there was one. `also`: what goes into the same
 * batch where the tier changes.
 */
export async function noteFirstPayment(
  db: Db,
  accountId: string,
  also: (change: TierChange) => Statement[],
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
      change === null ? [] : [auditRow('first-payment', 'account.update', accountId, change), ...also(change)]
    try {
      await db.write(expecting(update, 1), ...rows)
      return { value: change, changes: [{ kind: 'account', id: accountId }] }
    } catch (error) {
      // Somebody else noted it, or changed the tier meanwhile: look again.
      if (!isUnmet(error, 0)) throw error
    }
  }
}

/** Accounts that have paid by their entries and for which that was not noted, because a crash came between. */
export async function unnotedPayers(db: Db, paidSources: readonly string[]): Promise<string[]> {
  const query = sql
    .selectFrom('entries')
    .innerJoin('accounts', 'accounts.id', 'entries.account_id')
    .select('accounts.id')
    .distinct()
    .where('entries.reason', 'is not', null)
    .where('entries.source', 'in', [...paidSources])
    .where('accounts.first_paid_at', 'is', null)
  return (await db.report(query)).map((row) => row.id)
}
