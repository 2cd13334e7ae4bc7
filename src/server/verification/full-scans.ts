/**
 * Full scans of a cluster's ledger, which also cover everything before the monitor started. They work in steps of a few
 * milliseconds with longer pauses, each step in its own snapshot, so that nothing waits for them and no snapshot gets old.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { readHighWaterMarks, type HighWaterMarks } from '../../db/postgres/high-water-marks.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { LedgerVerifier } from '../../ledger/verify.ts'
import {
  addCosts,
  addEntries,
  compareSums,
  readCosts,
  lastDeletedRow,
  sumEntries,
  skipGap,
  sumRequestCosts,
  pauseFactor,
  type EntrySums,
  type ReadSnapshot,
  type Sums,
} from './table-sums.ts'
import { containsHeads, readHeads, readOwners } from './cluster-ledger-pages.ts'
import { ClusterVerificationRun } from './verify-cluster.ts'

/** null: the scan is void because rows that it had read are gone, and must start again. */
export type FullScan = (readSnapshot: ReadSnapshot) => Promise<LedgerReport | null>

const afterLastRow = Number.MAX_SAFE_INTEGER
/** Index entries that are counted in a few milliseconds. */
const rowsPerCount = 20_000

interface AllSums {
  readonly entries: EntrySums
  readonly costs: Sums
}

/** Adds the rows after these ends, and compares the sums with the balances of the same snapshot. */
async function compareNow(
  db: Db,
  ends: HighWaterMarks,
  { entries, costs }: AllSums,
): Promise<LedgerReport | null> {
  // Rows were deleted that are not in the sums yet.
  if ((await lastDeletedRow(db)) > ends.rowId) return null
  const owners = await readOwners(db)
  const all: EntrySums = { books: new Map(entries.books), charges: new Map(entries.charges) }
  await addEntries(all, (read) => read(db), [ends.entryId, afterLastRow])
  const allCosts: Sums = new Map(costs)
  addCosts(allCosts, await readCosts(db, ends.rowId, afterLastRow))
  const verifier = new LedgerVerifier()
  compareSums(owners, all, allCosts, (message, drift) => verifier.addFinding(message, drift))
  return verifier.report([])
}

/**
 * Compares the sums of all entries and all request rows, by account, with the balances and with each other. Sums up to
 * settled ends do not change: entries are never deleted, and the cost of a request row is counted when it is deleted.
 */
export const scanSums: FullScan = async (readSnapshot) => {
  const ends = await readHighWaterMarks({ read: readSnapshot })
  const heads = await readSnapshot(readHeads)
  const entries = await sumEntries(readSnapshot, ends.entryId)
  const costs = await sumRequestCosts(readSnapshot, ends.rowId)
  return readSnapshot(async (db) =>
    (await containsHeads(db, heads)) ? compareNow(db, ends, { entries, costs }) : null,
  )
}

async function countEntries(db: Db, after: number, last: number): Promise<number> {
  const [row] = await db.report<{ entries: number }>({
    sql: 'select count(*) as entries from entries where id > ? and id <= ?',
    parameters: [after, last],
  })
  return row?.entries ?? 0
}

interface EntryCount {
  readonly entries: number
  readonly last: number
}

/** Counts the next entries, up to `lastId`. */
async function countNext(db: Db, { entries, last }: EntryCount, lastId: number): Promise<EntryCount> {
  const end = Math.min(lastId, Math.max(last, 0) + rowsPerCount)
  const more = await countEntries(db, last, end)
  if (more > 0) return { entries: entries + more, last: end }
  return { entries, last: await skipGap(db, { table: 'entries', key: 'id' }, [end, lastId]) }
}

/**
 * Verifies the journal from its first commit, with the entries and bills of each, as `sluice verify` does. Commits that
 * were added since the start are read without pauses; otherwise the scan might never end.
 */
export const scanJournal: FullScan = async (readSnapshot) => {
  const { entryId } = await readHighWaterMarks({ read: readSnapshot })
  const heads = await readSnapshot(readHeads)
  const run = new ClusterVerificationRun()
  let counted: EntryCount = { entries: 0, last: Number.MIN_SAFE_INTEGER }
  for (let isMore = true; isMore;) {
    const startedAt = performance.now()
    isMore = await readSnapshot((db) => run.readPage(db))
    counted = await readSnapshot((db) => countNext(db, counted, entryId))
    isMore ||= counted.last < entryId
    if (isMore && !run.hasReached(heads)) await delay((performance.now() - startedAt) * pauseFactor)
  }
  return readSnapshot(async (db) => {
    if (!(await run.isHistoryIntact(db))) return null
    await run.read(db)
    const entries = counted.entries + (await countEntries(db, entryId, afterLastRow))
    if (entries !== run.entries)
      run.addFinding(`there are ${entries} entries, but the journal has ${run.entries}`)
    return run.report(db)
  })
}
