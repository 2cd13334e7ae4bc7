/**
 * The sums of everything: what entries came to by account, and what requests were charged and cost. Read a few rows at a
 * time with rests between them, for there may be tens of millions, and callers and people are served meanwhile. Each step
 * sees a moment of its own: entries are only ever added, and request rows change in no other way than that the oldest go,
 * with what they had come to added up in the same transaction.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { droppedText } from '../../db/drop-requests.ts'
import { nanosOfSum, splitSum } from '../../db/money-sums.ts'
import { sql, type OwnersTable } from '../../db/schema/schema.ts'
import { accountBook } from '../../ledger/entries.ts'
import { accountOwner } from '../../ledger/state.ts'

/** Nanos by a name. */
export type Sums = Map<string, bigint>
/** Reads one moment of the database; `read` may be asked again where a moment was lost. */
export type Snapshots = <Result>(read: (db: Db) => Promise<Result>) => Promise<Result>

/** What came to each book less what went, and what was charged to each account. */
export interface EntrySums {
  readonly books: Sums
  readonly charges: Sums
}

/** A few milliseconds of work. */
const stepRows = 5000
/** How much longer than a step its rest is: a fifth of one core, until it is done. */
export const restTimes = 4
/** Before every number that a row may have. */
const lowest: number = Number.MIN_SAFE_INTEGER

interface SumRow {
  readonly sum_yuan: number
  readonly sum_rest_nanos: bigint
}

function addTo(sums: Sums, name: string, nanos: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + nanos)
}

/** One step after the other, up to a number; each tells up to where it came. */
async function inSteps(last: number, step: (after: number) => Promise<number>): Promise<void> {
  let after = lowest
  while (after < last) {
    const startedAt = performance.now()
    after = await step(after)
    if (after < last) await delay((performance.now() - startedAt) * restTimes)
  }
}

/** Before the next row after one that ended a step without any: numbers may leave gaps of any size. */
export async function pastGap(
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

const stepAfter = (after: number, last: number): number => Math.min(last, Math.max(after, 0) + stepRows)

/** Adds the entries of these numbers; whether there were any. */
export async function addEntries(
  { books, charges }: EntrySums,
  snapshots: Snapshots,
  [after, last]: readonly [after: number, last: number],
): Promise<boolean> {
  const rows = await snapshots((db) =>
    db.report<SumRow & { debit: string; credit: string; kind: string; account_id: string | null }>({
      sql: `select debit, credit, kind, account_id, ${splitSum('amount_nanos', 'sum')} from entries
        where id > ? and id <= ? group by debit, credit, kind, account_id`,
      parameters: [after, last],
    }),
  )
  for (const row of rows) {
    const nanos = nanosOfSum(row.sum_yuan, row.sum_rest_nanos)
    addTo(books, row.debit, -nanos)
    addTo(books, row.credit, nanos)
    if (row.kind === 'charge') addTo(charges, row.account_id ?? '', nanos)
  }
  return rows.length > 0
}

/** The entries up to this number. */
export async function entrySums(snapshots: Snapshots, lastId: number): Promise<EntrySums> {
  const sums: EntrySums = { books: new Map(), charges: new Map() }
  await inSteps(lastId, async (after) => {
    const end = stepAfter(after, lastId)
    if (await addEntries(sums, snapshots, [after, end])) return end
    return snapshots((db) => pastGap(db, { table: 'entries', key: 'id' }, [end, lastId]))
  })
  return sums
}

/** What the request rows of these numbers cost, by account. */
export function costsBetween(
  db: Db,
  after: number,
  last: number,
): Promise<(SumRow & { account_id: string })[]> {
  return db.report({
    sql: `select account_id, ${splitSum('cost_nanos', 'sum')} from requests
      where row_id > ? and row_id <= ? group by account_id`,
    parameters: [after, last],
  })
}

export function addCosts(sums: Sums, rows: Awaited<ReturnType<typeof costsBetween>>): void {
  for (const row of rows) addTo(sums, row.account_id, nanosOfSum(row.sum_yuan, row.sum_rest_nanos))
}

/** Up to which number request rows are gone. */
export async function droppedUpTo(db: Db): Promise<number> {
  const [dropped] = await db.report<{ position: number }>({ sql: droppedText, parameters: [] })
  return dropped?.position ?? 0
}

/** What each account's requests up to this row cost, those too that are gone. */
export async function requestSums(snapshots: Snapshots, lastRow: number): Promise<Sums> {
  let sums: Sums = new Map()
  await inSteps(lastRow, async (after) => {
    const { gone, end, costs } = await snapshots(async (db) => {
      const position = await droppedUpTo(db)
      // All that was read so far is gone, and in these sums.
      const isAnew = position > after
      const gone = isAnew ? await db.report(sql.selectFrom('dropped_bills').selectAll()) : null
      const end = stepAfter(Math.max(after, position), lastRow)
      const costs = await costsBetween(db, isAnew ? lowest : after, end)
      if (costs.length > 0) return { gone, end, costs }
      return { gone, end: await pastGap(db, { table: 'requests', key: 'row_id' }, [end, lastRow]), costs }
    })
    if (gone) sums = new Map(gone.map((row) => [row.account_id, row.cost_nanos]))
    addCosts(sums, costs)
    return end
  })
  return sums
}

const distance = (one: bigint, other: bigint): bigint => (one > other ? one - other : other - one)

/** Where the sums differ from the balances of the accounts, or from each other. All of the same moment. */
export function compareSums(
  owners: readonly Pick<OwnersTable, 'id' | 'balance_nanos'>[],
  { books, charges }: EntrySums,
  costs: Sums,
  find: (words: string, drift: bigint) => void,
): void {
  const accounts = owners.filter(({ id }) => id.startsWith(accountOwner('')))
  const balances = new Map(
    accounts.map((row) => [accountBook(row.id.slice(accountOwner('').length)), row.balance_nanos]),
  )
  for (const book of new Set([...balances.keys(), ...books.keys()])) {
    if (!book.startsWith(accountBook(''))) continue
    const [sum, balance] = [books.get(book) ?? 0n, balances.get(book) ?? 0n]
    const words = `the entries of ${book} sum to ${sum}, its balance is ${balance}`
    if (sum !== balance) find(words, distance(sum, balance))
  }
  for (const account of new Set([...charges.keys(), ...costs.keys()])) {
    const drift = distance(charges.get(account) ?? 0n, costs.get(account) ?? 0n)
    const words = `the entries and the request rows of ${account} differ by ${drift} nanos`
    if (drift > 0n) find(words, drift)
  }
}
