/**
 * Granted trial credits. A grant and its credit order are one batch, so only one of several concurrent
 * requests for the same mailbox succeeds. When the grant ends, what is left is taken back, in as many entries
 * as necessary.
 */
import { hash } from 'node:crypto'
import { sql as fragment } from 'kysely'
import { fieldsOf, type RowFields } from '../../db/row-fields.ts'
import { expectChanges, type Db } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import { sql, type TrialGrantsTable } from '../../db/schema/schema.ts'
import { insertCreditOrder } from './credit-orders.ts'
import type { Promotion } from './promotions.ts'
import { accountOwner } from '../state.ts'

const dayMs = 86_400_000

/** `totalSpentNanos`: the account's total spending so far, as of the last commit. */
export type TrialGrant = RowFields<TrialGrantsTable> & { readonly totalSpentNanos: bigint | null }

/** Who receives a grant, identified by account and mailbox (accounts/fields.ts, mailboxOf). */
export interface Grantee {
  readonly account: string
  readonly mailbox: string
}

function hashOfMailbox(mailbox: string): string {
  return hash('sha256', mailbox, 'hex')
}

/** The id of a grant's credit in the ledger. An account has at most one. */
export function trialCreditId(account: string): string {
  return `trial:${account}`
}

/** Whether the mailbox or the account has received a trial credit. */
export async function hasHadTrial(db: Db, { account, mailbox }: Grantee): Promise<boolean> {
  const query = sql
    .selectFrom('trial_grants')
    .select('account_id')
    .where((build) =>
      build.or([build('mailbox_hash', '=', hashOfMailbox(mailbox)), build('account_id', '=', account)]),
    )
  return (await db.first(query)) !== undefined
}

export function trialExpiryOf(promotion: Promotion, at: number): number | null {
  return promotion.creditDays === null ? null : at + promotion.creditDays * dayMs
}

/**
 * The statements of a grant. Their batch fails if the promotion has ended or the mailbox already received its
 * credit.
 */
export function grantStatements(promotion: Promotion, grantee: Grantee, at: number): Statement[] {
  const { id, amountNanos, name } = promotion
  const { account, mailbox } = grantee
  const claimGrant = sql
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
    expires_at: trialExpiryOf(promotion, at),
    spent_before_nanos: fragment<bigint>`coalesce((select total_spent_nanos from owners where id = ${accountOwner(account)}), 0)`,
    taken_nanos: 0n,
    takes: 0,
    ended_at: null,
  })
  const reason = `Promotion “${name}”`
  const order = { id: trialCreditId(account), account, amountNanos, source: 'trial' as const, reason }
  return [expectChanges(claimGrant, 1), expectChanges(grant, 1), insertCreditOrder(order, at)]
}

/**
 * Grants that expire after `from` and up to `to`, may have something left, and whose credit is in the ledger.
 */
export async function expiringTrials(
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
  return (await db.all(query)).map(fieldsOf)
}

/** Records what an entry took back and whether it was the last one. */
export async function recordTrialTakeBack(
  db: Db,
  grant: TrialGrant,
  taken: { readonly nanos: bigint; readonly isDone: boolean; readonly at: number },
  extraStatements: readonly Statement[] = [],
): Promise<void> {
  const update = sql
    .updateTable('trial_grants')
    .set({
      taken_nanos: grant.takenNanos + taken.nanos,
      takes: taken.nanos > 0n ? grant.takes + 1 : grant.takes,
      ended_at: taken.isDone ? taken.at : null,
    })
    .where('account_id', '=', grant.accountId)
    .where('takes', '=', grant.takes)
  await db.write(expectChanges(update, 1), ...extraStatements)
}
