/**
 * The sums of whole tables: entries by book and account, and the costs of requests. They are read in small steps with
 * pauses, because there may be tens of millions of rows while callers are served. Each step reads its own snapshot: entries
 * are only added, and request rows change only when the oldest are deleted, with their sums updated in the same
 * transaction.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { deletedUpToSql } from '../../db/retention/delete-requests.ts'
import { joinSum, splitSumSql } from '../../db/money-sums.ts'
import { sql, type OwnersTable } from '../../db/schema/schema.ts'
import { accountBook } from '../../ledger/entries.ts'
import { accountOwner } from '../../ledger/state.ts'

/** Nanos by name. */
export type Sums = Map<string, bigint>
/** Reads one snapshot of the database; `read` may be called again if a snapshot was lost. */
export type ReadSnapshot = <Result>(read: (db: Db) => Promise<Result>) => Promise<Result>

/** The balance of each book, and the charges of each account. */
export interface EntrySums {
  readonly books: Sums
  readonly charges: Sums
}

/** A few milliseconds of work. */
const stepRows = 5000
/** How much longer than a step the pause after it is: the sums use a fifth of one core. */
export const pauseFactor = 4
/** Less than every number of a row. */
const beforeFirstRow: number = Number.MIN_SAFE_INTEGER

interface SumRow {
  readonly sum_yuan: number
  readonly sum_rest_nanos: bigint
}

function addTo(sums: Sums, name: string, nanos: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + nanos)
}

/** Runs one step after another up to a number; each returns how far it came. */
async function forEachStep(last: number, step: (after: number) => Promise<number>): Promise<void> {
  let after = beforeFirstRow
  while (after < last) {
    const startedAt = performance.now()
    after = await step(after)
    if (after < last) await delay((performance.now() - startedAt) * pauseFactor)
  }
}

/** The position before the next row, after a step without rows: numbers may have gaps of any size. */
export async function skipGap(
  db: Db,
  rows: { readonly table: 'entries' | 'requests'; readonly key: 'id' | 'row_id' },
  [after, last]: readonly [after: number, last: number],
): Promise<number> {
  const [row] = await db.report<{ next: number | null }>({
    sql: `select min(${rows.key}) as next from ${rows.table} where ${rows.key} > ?`,
    parameters: [after],
  })
  return Math.min(last, Math.max(after, (row?.next ?? last + 1) - 1))
}

const stepEnd = (after: number, last: number): number => Math.min(last, Math.max(after, 0) + stepRows)

/** Adds the entries in this range. Returns whether there were any. */
export async function addEntries(
  { books, charges }: EntrySums,
  readSnapshot: ReadSnapshot,
  [after, last]: readonly [after: number, last: number],
): Promise<boolean> {
  const rows = await readSnapshot((db) =>
    db.report<SumRow & { debit: string; credit: string; kind: string; account_id: string | null }>({
      sql: `select debit, credit, kind, account_id, ${splitSumSql('amount_nanos', 'sum')} from entries
        where id > ? and id <= ? group by debit, credit, kind, account_id`,
      parameters: [after, last],
    }),
  )
  for (const row of rows) {
    const nanos = joinSum(row.sum_yuan, row.sum_rest_nanos)
    addTo(books, row.debit, -nanos)
    addTo(books, row.credit, nanos)
    if (row.kind === 'charge') addTo(charges, row.account_id ?? '', nanos)
  }
  return rows.length > 0
}

/** The sums of the entries up to this number. */
export async function sumEntries(readSnapshot: ReadSnapshot, lastId: number): Promise<EntrySums> {
  const sums: EntrySums = { books: new Map(), charges: new Map() }
  await forEachStep(lastId, async (after) => {
    const end = stepEnd(after, lastId)
    if (await addEntries(sums, readSnapshot, [after, end])) return end
    return readSnapshot((db) => skipGap(db, { table: 'entries', key: 'id' }, [end, lastId]))
  })
  return sums
}

/** The costs of the request rows in this range, by account. */
export function readCosts(db: Db, after: number, last: number): Promise<(SumRow & { account_id: string })[]> {
  return db.report({
    sql: `select account_id, ${splitSumSql('cost_nanos', 'sum')} from requests
      where row_id > ? and row_id <= ? group by account_id`,
    parameters: [after, last],
  })
}

export function addCosts(sums: Sums, rows: Awaited<ReturnType<typeof readCosts>>): void {
  for (const row of rows) addTo(sums, row.account_id, joinSum(row.sum_yuan, row.sum_rest_nanos))
}

/** The number up to which request rows are deleted. */
export async function lastDeletedRow(db: Db): Promise<number> {
  const [dropped] = await db.report<{ position: number }>({ sql: deletedUpToSql, parameters: [] })
  return dropped?.position ?? 0
}

/** The costs of requests up to this row, by account, including deleted ones. */
export async function sumRequestCosts(readSnapshot: ReadSnapshot, lastRow: number): Promise<Sums> {
  let sums: Sums = new Map()
  await forEachStep(lastRow, async (after) => {
    const { deleted, end, costs } = await readSnapshot(async (db) => {
      const position = await lastDeletedRow(db)
      // All rows that were read so far are deleted, and contained in these sums.
      const mustRestart = position > after
      const deleted = mustRestart ? await db.report(sql.selectFrom('dropped_bills').selectAll()) : null
      const end = stepEnd(Math.max(after, position), lastRow)
      const costs = await readCosts(db, mustRestart ? beforeFirstRow : after, end)
      if (costs.length > 0) return { deleted, end, costs }
      return {
        deleted,
        end: await skipGap(db, { table: 'requests', key: 'row_id' }, [end, lastRow]),
        costs,
      }
    })
    if (deleted) sums = new Map(deleted.map((row) => [row.account_id, row.cost_nanos]))
    addCosts(sums, costs)
    return end
  })
  return sums
}

const absoluteDifference = (one: bigint, other: bigint): bigint => (one > other ? one - other : other - one)

/** Reports where the sums differ from the balances of the accounts, or from each other. All must be of the same snapshot. */
export function compareSums(
  owners: readonly Pick<OwnersTable, 'id' | 'balance_nanos'>[],
  { books, charges }: EntrySums,
  costs: Sums,
  addFinding: (message: string, drift: bigint) => void,
): void {
  const accounts = owners.filter(({ id }) => id.startsWith(accountOwner('')))
  const balances = new Map(
    accounts.map((row) => [accountBook(row.id.slice(accountOwner('').length)), row.balance_nanos]),
  )
  for (const book of new Set([...balances.keys(), ...books.keys()])) {
    if (!book.startsWith(accountBook(''))) continue
    const [sum, balance] = [books.get(book) ?? 0n, balances.get(book) ?? 0n]
    const message = `the entries of ${book} sum to ${sum}, its balance is ${balance}`
    if (sum !== balance) addFinding(message, absoluteDifference(sum, balance))
  }
  for (const account of new Set([...charges.keys(), ...costs.keys()])) {
    const drift = absoluteDifference(charges.get(account) ?? 0n, costs.get(account) ?? 0n)
    const message = `the entries and the request rows of ${account} differ by ${drift} nanos`
    if (drift > 0n) addFinding(message, drift)
  }
}
