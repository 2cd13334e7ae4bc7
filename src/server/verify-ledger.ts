/** Recomputes the ledger from its journal, as it is on disk, and compares the tables with it. */
import { journalAfter, ChainError } from '../db/read-ledger.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema.ts'
import type { LedgerVerdict } from '../http/house.ts'
import { LedgerBroken } from '../ledger/apply.ts'
import { JournalUnreadable } from '../ledger/journal.ts'
import { Recomputation, type Tables } from '../ledger/verify.ts'

async function sumsByBook(db: Db): Promise<ReadonlyMap<string, bigint>> {
  const sums = new Map<string, bigint>()
  for (const [side, sign] of [
    ['debit', -1n],
    ['credit', 1n],
  ] as const) {
    const rows = await db.report(
      sql
        .selectFrom('entries')
        .select((build) => [`${side} as book`, build.fn.sum<bigint>('amount_nanos').as('sum_nanos')])
        .groupBy(side),
    )
    for (const { book, sum_nanos } of rows) sums.set(book, (sums.get(book) ?? 0n) + sign * sum_nanos)
  }
  return sums
}

async function readTables(db: Db): Promise<Tables> {
  const count = sql.selectFrom('entries').select((build) => build.fn.countAll<number>().as('rows'))
  const cost = sql
    .selectFrom('requests')
    .select((build) => build.fn.sum<bigint | null>('cost_nanos').as('sum_nanos'))
  const owners = await db.report(sql.selectFrom('owners').select(['id', 'balance_nanos']))
  return {
    transferSums: await sumsByBook(db),
    transferCount: (await db.report(count))[0]?.rows ?? 0,
    balances: new Map(owners.map((row) => [row.id, row.balance_nanos])),
    requestCost: (await db.report(cost))[0]?.sum_nanos ?? 0n,
  }
}

/** `db`: one that sees a single moment, or the journal and the tables would be of two. */
export async function verifyLedger(db: Db): Promise<LedgerVerdict> {
  const recomputation = new Recomputation()
  const tables = await readTables(db)
  try {
    for await (const row of journalAfter(db, 0)) recomputation.take(row.body)
  } catch (error) {
    if (
      !(error instanceof ChainError || error instanceof LedgerBroken || error instanceof JournalUnreadable)
    ) {
      throw error
    }
    return { ...recomputation.verdict(tables), ok: false, findings: [error.message] }
  }
  return recomputation.verdict(tables)
}
