/**
 * What was granted of promotions. A grant and the order of its credit are one batch, so that of however many who ask for
 * the same mailbox one gets it; what is left at its end is taken back in as many entries as it takes.
 */
import { hash } from 'node:crypto'
import { sql as fragment } from 'kysely'
import { expecting, type Db } from '../../db/db.ts'
import type { Statement } from '../../db/messages.ts'
import { sql, type TrialGrantsTable } from '../../db/schema/schema.ts'
import { creditOrderRow } from './credit-orders.ts'
import type { Promotion } from './promotions.ts'
import { accountOwner } from '../state.ts'

const dayMs = 86_400_000

export interface TrialGrant {
  readonly account: string
  readonly amountNanos: bigint
  readonly expiresAt: number | null
  /** All that the account had spent before. */
  readonly spentBeforeNanos: bigint
  /** All that it has spent by now, as far as it is on disk. */
  readonly spentNanos: bigint
  readonly takenNanos: bigint
  readonly takes: number
}

/** Who gets it, by which mailbox (accounts/fields.ts, mailboxOf). */
export interface Grantee {
  readonly account: string
  readonly mailbox: string
}

function hashOfMailbox(mailbox: string): string {
  return hash('sha256', mailbox, 'hex')
}

/** The id of a grant's credit in the ledger: an account has one. */
export function trialCreditId(account: string): string {
  return `trial:${account}`
}

/** Whether the mailbox, or the account, has had a trial credit. */
export async function hasHadTrial(db: Db, { account, mailbox }: Grantee): Promise<boolean> {
  const query = sql
    .selectFrom('trial_grants')
    .select('account_id')
    .where((build) =>
      build.or([build('mailbox_hash', '=', hashOfMailbox(mailbox)), build('account_id', '=', account)]),
    )
  return (await db.first(query)) !== undefined
}

export function trialEndOf(promotion: Promotion, at: number): number | null {
  return promotion.creditDays === null ? null : at + promotion.creditDays * dayMs
}

/** The grant of a promotion, for a batch, which fails when the promotion is over or the mailbox has had its credit. */
export function grantRows(promotion: Promotion, grantee: Grantee, at: number): Statement[] {
  const { id, amountNanos, name } = promotion
  const { account, mailbox } = grantee
  const room = sql
    .updateTable('promotions')
    .set((build) => ({ granted: build('granted', '+', 1) }))
    .where('id', '=', id)
    .where('status', '=', 'active')
    .where((build) => build.or([build('ends_at', 'is', null), build('ends_at', '>', at)]))
    .where((build) =>
      build.or([build('grants_max', 'is', null), build('granted', '<', build.ref('grants_max'))]),
    )
  const grant = sql.insertInto('trial_grants').values({
    mailbox_hash: hashOfMailbox(mailbox),
    account_id: account,
    promotion_id: id,
    amount_nanos: amountNanos,
    granted_at: at,
    expires_at: trialEndOf(promotion, at),
    spent_before_nanos: fragment<bigint>`coalesce((select total_spent_nanos from owners where id = ${accountOwner(account)}), 0)`,
    taken_nanos: 0n,
    takes: 0,
    ended_at: null,
  })
  const reason = `Promotion “${name}”`
  const order = { id: trialCreditId(account), account, amountNanos, source: 'trial' as const, reason }
  return [expecting(room, 1), expecting(grant, 1), creditOrderRow(order, at)]
}

/** Grants whose time ends after `from` and not after `to`, of which something may be left, and whose credit is in the ledger. */
export async function endingTrials(
  db: Db,
  { from, to }: { readonly from: number; readonly to: number },
  limit: number,
): Promise<TrialGrant[]> {
  const query = sql
    .selectFrom('trial_grants')
    .innerJoin('credit_orders', (join) =>
      join.on('credit_orders.id', '=', fragment<string>`${trialCreditId('')} || trial_grants.account_id`),
    )
    .leftJoin('owners', (join) =>
      join.on('owners.id', '=', fragment<string>`${accountOwner('')} || trial_grants.account_id`),
    )
    .selectAll('trial_grants')
    .select('owners.total_spent_nanos')
    .where('credit_orders.entered_at', 'is not', null)
    .where('trial_grants.expires_at', '>', from)
    .where('trial_grants.expires_at', '<=', to)
    .where('trial_grants.ended_at', 'is', null)
    .orderBy('trial_grants.expires_at')
    .limit(limit)
  return (await db.all(query)).map(grantOf)
}

function grantOf(row: TrialGrantsTable & { total_spent_nanos: bigint | null }): TrialGrant {
  return {
    account: row.account_id,
    amountNanos: row.amount_nanos,
    expiresAt: row.expires_at,
    spentBeforeNanos: row.spent_before_nanos,
    spentNanos: row.total_spent_nanos ?? 0n,
    takenNanos: row.taken_nanos,
    takes: row.takes,
  }
}

/** Notes an entry that took something back, and whether that was the last. */
export async function noteTaken(
  db: Db,
  grant: TrialGrant,
  taken: { readonly nanos: bigint; readonly isDone: boolean; readonly at: number },
  also: readonly Statement[] = [],
): Promise<void> {
  const update = sql
    .updateTable('trial_grants')
    .set({
      taken_nanos: grant.takenNanos + taken.nanos,
      takes: taken.nanos > 0n ? grant.takes + 1 : grant.takes,
      ended_at: taken.isDone ? taken.at : null,
    })
    .where('account_id', '=', grant.account)
    .where('takes', '=', grant.takes)
  await db.write(expecting(update, 1), ...also)
}
