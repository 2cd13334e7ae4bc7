/**
 * The ledger's own watch: what every minute has added to the journal is recomputed and compared with the balances,
 * entries and request rows, as `sluice verify` does for all of it. It begins with the sums of everything as of the start.
 */
import type { Db } from '../db/db.ts'
import { droppedText } from '../db/drop-requests.ts'
import { chainStart } from '../db/journal.ts'
import { readLedger } from '../db/read-ledger.ts'
import { sql } from '../db/schema.ts'
import type { LedgerVerdict } from '../http/house.ts'
import { accountBook } from '../ledger/entries.ts'
import { accountOwner } from '../ledger/state.ts'
import { Recomputation } from '../ledger/verify.ts'
import { stateOnDisk } from './restore-ledger.ts'
import { Reading, type Beginning } from './verify-ledger.ts'

type Sums = Map<string, bigint>

function addTo(sums: Sums, name: string, nanos: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + nanos)
}

/** What came to each account's book, less what went. */
async function entrySums(db: Db): Promise<Sums> {
  const sums: Sums = new Map()
  for (const [side, sign] of [
    ['debit', -1n],
    ['credit', 1n],
  ] as const) {
    const query = sql
      .selectFrom('entries')
      .select((build) => [`${side} as book`, build.fn.sum<bigint>('amount_nanos').as('sum_nanos')])
      .where(side, 'like', accountBook('%'))
      .groupBy(side)
    for (const { book, sum_nanos } of await db.report(query)) addTo(sums, book, sign * sum_nanos)
  }
  return sums
}

/** What each account was charged, by its entries less by its request rows, those that are gone too: nothing. */
async function chargeSums(db: Db): Promise<Sums> {
  const sums: Sums = new Map()
  const entries = sql
    .selectFrom('entries')
    .select((build) => ['account_id', build.fn.sum<bigint>('amount_nanos').as('sum_nanos')])
    .where('kind', '=', 'charge')
    .groupBy('account_id')
  const requests = sql
    .selectFrom('requests')
    .select((build) => ['account_id', build.fn.sum<bigint>('cost_nanos').as('sum_nanos')])
    .groupBy('account_id')
  for (const row of await db.report(entries)) addTo(sums, row.account_id ?? '', row.sum_nanos)
  for (const row of await db.report(requests)) addTo(sums, row.account_id, -row.sum_nanos)
  for (const row of await db.report(sql.selectFrom('dropped_bills').selectAll()))
    addTo(sums, row.account_id, -row.cost_nanos)
  return sums
}

/** Begins at the last commit, with what the sums of the tables say about everything before. */
async function beginningNow(db: Db): Promise<Beginning> {
  const read = await readLedger(db)
  const last = await db.first(sql.selectFrom('journal').select('hash').orderBy('seq', 'desc').limit(1))
  const entry = await db.first(sql.selectFrom('entries').select('id').orderBy('id', 'desc').limit(1))
  const request = await db.first(
    sql.selectFrom('requests').select('row_id').orderBy('row_id', 'desc').limit(1),
  )
  const recomputation = new Recomputation(await stateOnDisk(db, read))
  const sums = await entrySums(db)
  for (const { id, balance_nanos: balance } of read.owners) {
    if (!id.startsWith(accountOwner(''))) continue
    const sum = sums.get(accountBook(id.slice(accountOwner('').length))) ?? 0n
    const drift = sum > balance ? sum - balance : balance - sum
    if (drift > 0n) recomputation.find(`the entries of ${id} sum to ${sum}, its balance is ${balance}`, drift)
  }
  for (const [account, drift] of await chargeSums(db)) {
    if (drift === 0n) continue
    const words = `the entries and the request rows of ${account} differ by ${drift} nanos`
    recomputation.find(words, drift > 0n ? drift : -drift)
  }
  return {
    recomputation,
    seq: read.lastSeq,
    hash: last?.hash ?? chainStart,
    entryId: entry?.id ?? 0,
    rowId: request?.row_id ?? 0,
  }
}

export class LedgerWatch {
  #reading: Reading | null = null

  /** Compares what has come since the last look; the first one begins. `db` has to see a single moment. */
  async look(db: Db): Promise<LedgerVerdict> {
    // A machine that slept for long may delete rows before they were looked at: then it begins again.
    const [dropped] = await db.report<{ position: number }>({ sql: droppedText, parameters: [] })
    if (this.#reading !== null && (dropped?.position ?? 0) > this.#reading.rowId) this.#reading = null
    this.#reading ??= new Reading(await beginningNow(db), db)
    return this.#reading.follow(db)
  }
}
