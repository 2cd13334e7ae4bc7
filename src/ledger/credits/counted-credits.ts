/**
 * Which credits count as the last one, which determines what a low balance is, and which as a payment, the first of which
 * may change the tier. Neither a debit nor a payback that is given back does, because neither is new money.
 */
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { books } from '../entries.ts'
import type { CreditKind } from '../events.ts'
import { isPayback, paybackIdPattern } from '../payback-ids.ts'

export interface EnteredCredit {
  /** In the ledger. */
  readonly id: string
  /** Nanos. */
  readonly amount: bigint
  readonly source: CreditKind
}

const paidSources: readonly CreditKind[] = ['payment', 'voucher']
const neverLast: readonly CreditKind[] = ['refund', 'bonus']

const isNewMoney = ({ id, amount }: EnteredCredit): boolean => amount > 0n && !isPayback(id)

export function countsAsLastCredit(credit: EnteredCredit): boolean {
  return isNewMoney(credit) && !neverLast.includes(credit.source)
}

export function countsAsPayment(credit: EnteredCredit): boolean {
  return isNewMoney(credit) && paidSources.includes(credit.source)
}

function newMoney() {
  return sql
    .selectFrom('entries')
    .where('entries.reason', 'is not', null)
    .where('entries.debit', '=', books.funding)
    .where('entries.ref', 'not like', paybackIdPattern)
}

/** The credit of an account that counts as the last one, as far as they are committed. `nanos`: its amount. */
export async function lastCreditOf(
  db: Db,
  account: string,
): Promise<{ readonly ref: string; readonly nanos: bigint } | undefined> {
  const query = newMoney()
    .select(['ref', 'amount_nanos'])
    .where('account_id', '=', account)
    .where('source', 'not in', [...neverLast])
    .orderBy('id', 'desc')
    .limit(1)
  const row = await db.first(query)
  return row && { ref: row.ref ?? '', nanos: row.amount_nanos }
}

/**
 * Accounts that have paid according to their entries, but whose first payment was not recorded because of a
 * crash.
 */
export async function accountsMissingFirstPayment(db: Db): Promise<string[]> {
  const query = newMoney()
    .innerJoin('accounts', 'accounts.id', 'entries.account_id')
    .select('accounts.id')
    .distinct()
    .where('entries.source', 'in', [...paidSources])
    .where('accounts.first_paid_at', 'is', null)
  return (await db.report(query)).map((row) => row.id)
}
