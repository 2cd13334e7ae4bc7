/**
 * The sums of everything, for a watch that begins: what entries came to by account, and what requests were charged and
 * cost. Read a few rows at a time with rests between them, for there may be tens of millions, and callers and people are
 * served meanwhile. Each step sees a moment of its own: entries are only ever added, and request rows change in no other
 * way than that the oldest go, with what they had come to added up in the same transaction.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../db/db.ts'
import { droppedText } from '../db/drop-requests.ts'
import { nanosOfSum, splitSum } from '../db/money-sums.ts'
import { sql } from '../db/schema.ts'

/** Nanos by a name. */
export type Sums = Map<string, bigint>
/** Reads one moment of the database. */
export type Snapshots = <Result>(read: (db: Db) => Promise<Result>) => Promise<Result>

/** A few milliseconds of work. */
const stepRows = 5000
/** How much longer than a step its rest is: a fifth of one core, until it is done. */
const restTimes = 4

interface SumRow {
  sum_yuan: number
  sum_rest_nanos: bigint
}

function addTo(sums: Sums, name: string, nanos: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + nanos)
}

/** One step after the other, up to a number; each tells up to where it came. */
async function inSteps(last: number, step: (after: number) => Promise<number>): Promise<void> {
  let after = 0
  while (after < last) {
    const startedAt = performance.now()
    after = await step(after)
    if (after < last) await delay((performance.now() - startedAt) * restTimes)
  }
}

/** What came to each book less what went, and what was charged to each account, by the entries up to this number. */
export async function entrySums(
  snapshots: Snapshots,
  lastId: number,
): Promise<{ books: Sums; charges: Sums }> {
  const books: Sums = new Map()
  const charges: Sums = new Map()
  await inSteps(lastId, async (after) => {
    const end = Math.min(lastId, after + stepRows)
    const rows = await snapshots((db) =>
      db.report<SumRow & { debit: string; credit: string; kind: string; account_id: string | null }>({
        sql: `select debit, credit, kind, account_id, ${splitSum('amount_nanos', 'sum')} from entries
          where id > ? and id <= ? group by debit, credit, kind, account_id`,
        parameters: [after, end],
      }),
    )
    for (const row of rows) {
      const nanos = nanosOfSum(row.sum_yuan, row.sum_rest_nanos)
      addTo(books, row.debit, -nanos)
      addTo(books, row.credit, nanos)
      if (row.kind === 'charge') addTo(charges, row.account_id ?? '', nanos)
    }
    return end
  })
  return { books, charges }
}

/** What each account's requests up to this row cost, those too that are gone. */
export async function requestSums(snapshots: Snapshots, lastRow: number): Promise<Sums> {
  let sums: Sums = new Map()
  let isBegun = false
  await inSteps(lastRow, (after) =>
    snapshots(async (db) => {
      const [dropped] = await db.report<{ position: number }>({ sql: droppedText, parameters: [] })
      const position = dropped?.position ?? 0
      // All that was read so far is gone, and in these sums.
      if (!isBegun || position > after) {
        const gone = await db.report(sql.selectFrom('dropped_bills').selectAll())
        sums = new Map(gone.map((row) => [row.account_id, row.cost_nanos]))
      }
      isBegun = true
      const begin = Math.max(after, position)
      const end = Math.min(lastRow, begin + stepRows)
      const rows = await db.report<SumRow & { account_id: string }>({
        sql: `select account_id, ${splitSum('cost_nanos', 'sum')} from requests
          where row_id > ? and row_id <= ? group by account_id`,
        parameters: [begin, end],
      })
      for (const row of rows) addTo(sums, row.account_id, nanosOfSum(row.sum_yuan, row.sum_rest_nanos))
      return end
    }),
  )
  return sums
}
