/**
 * The ledger's own watch: what every minute has added to the journal is recomputed and compared with the balances,
 * entries and request rows, as `sluice verify` does for all of it. It begins with the sums of everything as of the start.
 */
import type { Db } from '../db/db.ts'
import { chainStart } from '../db/journal.ts'
import { readLedger } from '../db/read-ledger.ts'
import { sql, type OwnersTable } from '../db/schema/schema.ts'
import type { LedgerVerdict } from '../http/house.ts'
import { Recomputation } from '../ledger/verify.ts'
import { stateOnDisk } from './ledger/recovery.ts'
import {
  compareSums,
  droppedUpTo,
  entrySums,
  requestSums,
  type Snapshots,
} from './verification/table-sums.ts'
import { Reading, type Beginning } from './verification/verify-ledger.ts'

interface Start extends Beginning {
  readonly owners: readonly OwnersTable[]
}

/** The last commit, and the last rows that belong to it or to one before. */
async function startNow(db: Db): Promise<Start> {
  const read = await readLedger(db)
  const last = await db.first(sql.selectFrom('journal').select('hash').orderBy('seq', 'desc').limit(1))
  const entry = await db.first(sql.selectFrom('entries').select('id').orderBy('id', 'desc').limit(1))
  const request = await db.first(
    sql.selectFrom('requests').select('row_id').orderBy('row_id', 'desc').limit(1),
  )
  return {
    recomputation: new Recomputation(await stateOnDisk(db, read)),
    owners: read.owners,
    seq: read.lastSeq,
    hash: last?.hash ?? chainStart,
    entryId: entry?.id ?? 0,
    rowId: request?.row_id ?? 0,
  }
}

/** Begins at the last commit, with what the sums of the tables say about everything before. */
async function beginning(snapshots: Snapshots): Promise<Beginning> {
  const start = await snapshots(startNow)
  const entries = await entrySums(snapshots, start.entryId)
  const costs = await requestSums(snapshots, start.rowId)
  compareSums(start.owners, entries, costs, (words, drift) => start.recomputation.find(words, drift))
  return start
}

export class LedgerWatch {
  readonly #snapshots: Snapshots
  #reading: Reading | null = null

  constructor(snapshots: Snapshots) {
    this.#snapshots = snapshots
  }

  /** Compares what has come since the last look; the first one begins. One look at a time. */
  async look(): Promise<LedgerVerdict> {
    for (;;) {
      const reading = (this.#reading ??= new Reading(await beginning(this.#snapshots)))
      const verdict = await this.#snapshots((db) => verdictOf(reading, db))
      if (verdict !== null) return verdict
      this.#reading = null
    }
  }
}

/** null: a machine that slept for long has deleted rows before they were looked at. Then it begins again. */
async function verdictOf(reading: Reading, db: Db): Promise<LedgerVerdict | null> {
  return (await droppedUpTo(db)) > reading.rowId ? null : reading.follow(db)
}
