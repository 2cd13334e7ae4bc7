/**
 * What is unspent of a paid order. Money is spent in the order in which it came, after trial credit: so of the balance,
 * what came after the order belongs to the later credits, and never becomes cash with it.
 */
import { joinSum, splitSumSql } from '../../db/money-sums.ts'
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { books } from '../entries.ts'
import { paybackIdPattern, paybackIds, paybackUndoneIds } from '../payback-ids.ts'
import { accountOwner } from '../state.ts'

/** An order whose credit is in the ledger, and what else the rows of payments know of its account. */
export interface UnspentQuery {
  readonly account: string
  /** What the account's open requests hold, in nanos, read before this. */
  readonly held: bigint
  /** The credit of the order in the ledger. */
  readonly creditId: string
  /** The bonus of the order in the ledger; `null`: it has none. */
  readonly bonusId: string | null
  /** All paybacks of the account, each with the credit of the order that it took from. */
  readonly paybacks: readonly { readonly id: string; readonly creditId: string }[]
}

interface EntryOfCredit {
  readonly id: number
  /** Nanos. Negative: a debit. */
  readonly amount: bigint
}

/** Both stores bound the parameters of a statement, and an account may have any number of paybacks. */
const refsPerRead = 1000

/** Credits that are in the ledger, by their ids. */
async function entriesOf(db: Db, refs: readonly string[]): Promise<Map<string, EntryOfCredit>> {
  const found = new Map<string, EntryOfCredit>()
  for (let start = 0; start < refs.length; start += refsPerRead) {
    const query = sql
      .selectFrom('entries')
      .select(['id', 'ref', 'debit', 'amount_nanos'])
      .where('reason', 'is not', null)
      .where('ref', 'in', refs.slice(start, start + refsPerRead))
    for (const { id, ref, debit, amount_nanos: amount } of await db.all(query))
      found.set(ref ?? '', { id, amount: debit === books.funding ? amount : -amount })
  }
  return found
}

interface AccountRow {
  readonly balance_nanos: bigint
  readonly total_spent_nanos: bigint
  readonly trial_nanos: bigint | null
  readonly trial_taken_nanos: bigint | null
  readonly trial_spent_before_nanos: bigint | null
  readonly later_units: number
  readonly later_rest_nanos: bigint
}

/**
 * The balance, the trial credit that has not ended, and the credits after an entry, as of one commit. Reads no charges:
 * credits have an index of their own. Trial credit is not among the credits, because what is left of it counts by itself.
 */
function readAccount(db: Db, { account, bonusId }: UnspentQuery, after: number) {
  return db.first<AccountRow>({
    sql: `select owners.balance_nanos, owners.total_spent_nanos, trial_grants.amount_nanos as trial_nanos,
        trial_grants.taken_nanos as trial_taken_nanos,
        trial_grants.spent_before_nanos as trial_spent_before_nanos,
        later.later_units, later.later_rest_nanos
      from owners
      left join trial_grants on trial_grants.account_id = ? and trial_grants.ended_at is null
      cross join (select ${splitSumSql('amount_nanos', 'later')} from entries
        where account_id = ? and kind = 'credit' and id > ? and debit = ? and source <> 'trial'
          and ref not like ? and ref <> ?) as later
      where owners.id = ?`,
    parameters: [
      account,
      account,
      after,
      books.funding,
      paybackIdPattern,
      bonusId ?? '',
      accountOwner(account),
    ],
  })
}

function trialLeft(row: AccountRow): bigint {
  const { trial_nanos: amount, trial_taken_nanos: taken, trial_spent_before_nanos: spentBefore } = row
  if (amount === null) return 0n
  const left = amount - (taken ?? 0n) - (row.total_spent_nanos - (spentBefore ?? 0n))
  return left > 0n ? left : 0n
}

/**
 * Nanos, at most the credit and the bonus of the order, as they are in the ledger; 0 if its credit is not. The ledger
 * must still be asked to take it back, because the account may spend in the meantime.
 */
export async function unspentOf(db: Db, query: UnspentQuery): Promise<bigint> {
  const { held, creditId, bonusId, paybacks } = query
  const refsOf = (id: string): string[] =>
    [paybackIds(id), paybackUndoneIds(id)].flatMap((ids) => Object.values(ids))
  const refs = paybacks.flatMap(({ id, creditId: of }) => [of, ...refsOf(id)])
  const entries = await entriesOf(db, [creditId, ...(bonusId === null ? [] : [bonusId]), ...refs])
  const amountOf = (ref: string): bigint => entries.get(ref)?.amount ?? 0n
  const credit = entries.get(creditId)
  const row = credit && (await readAccount(db, query, credit.id))
  if (!row) return 0n
  let later = joinSum(row.later_units, BigInt(row.later_rest_nanos))
  for (const { id, creditId: of } of paybacks) {
    if ((entries.get(of)?.id ?? 0) > credit.id) for (const ref of refsOf(id)) later += amountOf(ref)
  }
  const unspent = row.balance_nanos - held - trialLeft(row) - later
  const most = credit.amount + (bonusId === null ? 0n : amountOf(bonusId))
  if (unspent <= 0n) return 0n
  return unspent < most ? unspent : most
}
