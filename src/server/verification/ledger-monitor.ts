/**
 * Monitors the ledger: recomputes new commits of the journal every minute, and compares them with balances, entries and
 * request rows, as `sluice verify` does for the whole ledger. It starts with the sums of everything at startup.
 */
import type { Db } from '../../db/db.ts'
import { chainGenesis } from '../../db/journal.ts'
import { readLedger } from '../../db/read-ledger.ts'
import { sql, type OwnersTable } from '../../db/schema/schema.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { LedgerVerifier } from '../../ledger/verify.ts'
import { recoverState } from '../ledger/recovery.ts'
import { compareSums, lastDeletedRow, sumEntries, sumRequestCosts, type ReadSnapshot } from './table-sums.ts'
import { VerificationRun, type StartingPoint } from './verify-ledger.ts'

interface StartingState extends StartingPoint {
  readonly owners: readonly OwnersTable[]
}

/** The last commit, and the last rows that belong to it or to an earlier one. */
async function readStartingState(db: Db): Promise<StartingState> {
  const read = await readLedger(db)
  const last = await db.first(sql.selectFrom('journal').select('hash').orderBy('seq', 'desc').limit(1))
  const entry = await db.first(sql.selectFrom('entries').select('id').orderBy('id', 'desc').limit(1))
  const request = await db.first(
    sql.selectFrom('requests').select('row_id').orderBy('row_id', 'desc').limit(1),
  )
  return {
    verifier: new LedgerVerifier(await recoverState(db, read)),
    owners: read.owners,
    seq: read.lastSeq,
    hash: last?.hash ?? chainGenesis,
    entryId: entry?.id ?? 0,
    rowId: request?.row_id ?? 0,
  }
}

/** Starts at the last commit, with findings from the sums of all earlier rows. */
async function readStartingPoint(readSnapshot: ReadSnapshot): Promise<StartingPoint> {
  const start = await readSnapshot(readStartingState)
  const entries = await sumEntries(readSnapshot, start.entryId)
  const costs = await sumRequestCosts(readSnapshot, start.rowId)
  compareSums(start.owners, entries, costs, (message, drift) => start.verifier.addFinding(message, drift))
  return start
}

export class LedgerMonitor {
  readonly #readSnapshot: ReadSnapshot
  #run: VerificationRun | null = null

  constructor(readSnapshot: ReadSnapshot) {
    this.#readSnapshot = readSnapshot
  }

  /** Verifies what is new since the last check; the first one sets the starting point. One check at a time. */
  async check(): Promise<LedgerReport> {
    for (;;) {
      const run = (this.#run ??= new VerificationRun(await readStartingPoint(this.#readSnapshot)))
      const report = await this.#readSnapshot((db) => verifyUnlessDeleted(run, db))
      if (report !== null) return report
      this.#run = null
    }
  }
}

/** null: rows were deleted before they were checked, after a long sleep of the machine. The monitor then starts again. */
async function verifyUnlessDeleted(run: VerificationRun, db: Db): Promise<LedgerReport | null> {
  return (await lastDeletedRow(db)) > run.rowId ? null : run.verifyNew(db)
}
