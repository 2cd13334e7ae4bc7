/**
 * Monitors the ledger of a cluster. Each check recomputes the commits since the last one and compares all derived rows, so
 * its cost depends on what is new. In addition, full scans (full-scans.ts) verify everything again and again in small
 * steps, at a constant cost. A mismatch stays reported.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { readLastIds } from '../../db/postgres/high-water-marks.ts'
import { SnapshotReader } from '../../db/postgres/snapshot.ts'
import { rollUpCursorSql } from '../../db/rollup-cursor.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { openHold } from '../../ledger/apply.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import { emptyState } from '../../ledger/state.ts'
import { lastDeletedRow, pauseFactor, type ReadSnapshot } from './table-sums.ts'
import type { MonitorListener } from './verify-thread.ts'
import { readHeads, readOpenHolds, readOwners } from './cluster-ledger-pages.ts'
import { ownerFromRow } from '../cluster/ledger/shared-rows.ts'
import { scanJournal, scanSums, type FullScan } from './full-scans.ts'
import { ClusterVerificationRun, type ClusterStartingPoint } from './verify-cluster.ts'

/** The current state according to the rows. */
async function readStartingPoint(db: Db): Promise<ClusterStartingPoint> {
  const state = emptyState()
  for (const row of await readOwners(db)) state.owners.set(row.id, ownerFromRow(row))
  for (const row of await readOpenHolds(db)) openHold(state, { kind: 'held', ...decodeHold(row.body, null) })
  return { state, heads: await readHeads(db), lastRows: await readLastIds(db) }
}

interface MonitoredRun {
  readonly run: ClusterVerificationRun
  /** Up to this number all request rows were visible at the last check: only those are rolled up and may be deleted. */
  readonly lastSeenRow: number
}

async function lastRolledUpRow(db: Db): Promise<number> {
  const [row] = await db.report<{ position: number }>({ sql: rollUpCursorSql, parameters: [] })
  return row?.position ?? 0
}

async function startRun(db: Db): Promise<MonitoredRun> {
  return {
    run: new ClusterVerificationRun(await readStartingPoint(db)),
    lastSeenRow: await lastRolledUpRow(db),
  }
}

/**
 * Rows were deleted before they were checked, after a long sleep of the machine, or a failover has lost commits. The full
 * scans verify what is left.
 */
async function isHistoryGone(db: Db, { run, lastSeenRow }: MonitoredRun): Promise<boolean> {
  return (await lastDeletedRow(db)) > lastSeenRow || !(await run.isHistoryIntact(db))
}

export class ClusterLedgerMonitor {
  readonly #url: string
  readonly #listener: MonitorListener
  #current: MonitoredRun | null = null
  #failedReport: LedgerReport | null = null

  /** `listener` gets the reports of full scans; `check` returns its own. */
  constructor(url: string, listener: MonitorListener) {
    this.#url = url
    this.#listener = listener
  }

  /** Verifies what is new since the last check; the first one sets the starting point. One check at a time. */
  async check(): Promise<LedgerReport> {
    if (this.#failedReport) return this.#failedReport
    const snapshots = new SnapshotReader(this.#url, 'sluice watch')
    try {
      const report = await snapshots.read((db) => this.#verifyNew(db))
      if (!report.ok) this.#failedReport ??= report
      return this.#failedReport ?? report
    } finally {
      await snapshots.close()
    }
  }

  async #verifyNew(db: Db): Promise<LedgerReport> {
    if (this.#current && (await isHistoryGone(db, this.#current))) this.#current = null
    const { run } = (this.#current ??= await startRun(db))
    await run.read(db)
    await run.compareSums(db)
    const report = await run.report(db)
    this.#current = { run, lastSeenRow: await lastRolledUpRow(db) }
    return report
  }

  /** Repeats full scans until one finds a mismatch, with at least this pause between scans and after a failure. */
  async scanAll(pauseMs: number): Promise<void> {
    await Promise.all([scanSums, scanJournal].map((scan) => this.#repeatScan(scan, pauseMs)))
  }

  async #repeatScan(scan: FullScan, pauseMs: number): Promise<void> {
    while (!this.#failedReport) {
      const snapshots = new SnapshotReader(this.#url, 'sluice watch of all')
      const readSnapshot: ReadSnapshot = (read) =>
        this.#retryUntilAvailable(() => snapshots.read(read), pauseMs)
      const startedAt = performance.now()
      const report = await scan(readSnapshot)
      const tookMs = performance.now() - startedAt
      await snapshots.close()
      if (report && !report.ok) {
        this.#failedReport ??= report
        this.#listener.onReport(this.#failedReport)
      } else await delay(Math.max(pauseMs, tookMs * pauseFactor))
    }
  }

  /** An outage of the database must not restart a scan that takes hours. */
  async #retryUntilAvailable<Result>(read: () => Promise<Result>, pauseMs: number): Promise<Result> {
    for (;;) {
      try {
        return await read()
      } catch (error) {
        this.#listener.onError(error)
        await delay(pauseMs)
      }
    }
  }
}
