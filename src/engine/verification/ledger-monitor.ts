/**
 * Monitors the ledger. Each check recomputes the commits since the last one and compares all derived rows, as
 * `sluice verify` does for the whole ledger, so its cost depends on what is new. In addition, scrubs (scrub.ts) verify what
 * was there before. A mismatch stays reported.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import type { LedgerSource, ReadSnapshot, SnapshotConnection } from './ledger-source.ts'
import { LedgerVerification } from './replay.ts'
import { lastDeletedRow, pauseFactor, scrubJournal, scrubSums, type Scrub } from './scrub.ts'

export interface MonitorListener {
  onReport(report: LedgerReport): void
  /** A check failed for another reason than the ledger; the next one starts again. */
  onError(error: unknown): void
}

export interface MonitoredLedger {
  readonly source: LedgerSource
  readonly openSnapshots: (name: string) => SnapshotConnection
}

interface Monitored {
  readonly verification: LedgerVerification
  /** Up to this id all request rows were visible at the last check. */
  readonly lastSeenRow: number
}

/**
 * Rows were deleted before they were checked, after a long sleep of the machine, or a failover has lost commits. The scrubs
 * verify what is left.
 */
async function isHistoryGone(db: Db, { verification, lastSeenRow }: Monitored): Promise<boolean> {
  return (await lastDeletedRow(db)) > lastSeenRow || !(await verification.reader.isHistoryIntact(db))
}

export class LedgerMonitor {
  readonly #ledger: MonitoredLedger
  readonly #listener: MonitorListener
  #current: Monitored | null = null
  #failedReport: LedgerReport | null = null

  /** `listener` gets what scrubs find; `check` returns its own report. */
  constructor(ledger: MonitoredLedger, listener: MonitorListener) {
    this.#ledger = ledger
    this.#listener = listener
  }

  /** Verifies what is new since the last check; the first one sets the starting point. One check at a time. */
  async check(): Promise<LedgerReport> {
    if (this.#failedReport) return this.#failedReport
    const snapshots = this.#ledger.openSnapshots('sluice watch')
    try {
      const report = await snapshots.read((db) => this.#verifyNew(db))
      if (!report.ok) this.#failedReport ??= report
      return this.#failedReport ?? report
    } finally {
      await snapshots.close()
    }
  }

  async #verifyNew(db: Db): Promise<LedgerReport> {
    const { source } = this.#ledger
    if (this.#current && (await isHistoryGone(db, this.#current))) this.#current = null
    this.#current ??= {
      verification: new LedgerVerification(source, await source.readPresent(db)),
      lastSeenRow: await source.readLastSeenRow(db),
    }
    const { verification } = this.#current
    const report = await verification.verify(db)
    this.#current = { verification, lastSeenRow: await source.readLastSeenRow(db) }
    return report
  }

  /** Compares the sums of all rows once. Resolves after a mismatch was reported. */
  async scrubOnce(pauseMs: number): Promise<void> {
    while ((await this.#scrub(scrubSums, pauseMs)) === null) await delay(pauseMs)
  }

  /** Repeats all scrubs until one finds a mismatch, with at least this pause between them and after a failure. */
  async scrubAll(pauseMs: number): Promise<void> {
    const repeat = async (scrub: Scrub): Promise<void> => {
      while (!this.#failedReport) {
        const startedAt = performance.now()
        await this.#scrub(scrub, pauseMs)
        const tookMs = performance.now() - startedAt
        if (!this.#failedReport) await delay(Math.max(pauseMs, tookMs * pauseFactor))
      }
    }
    await Promise.all([scrubSums, scrubJournal].map(repeat))
  }

  async #scrub(scrub: Scrub, pauseMs: number): Promise<LedgerReport | null> {
    const snapshots = this.#ledger.openSnapshots('sluice watch of all')
    const read: ReadSnapshot = (work) => this.#retryUntilAvailable(() => snapshots.read(work), pauseMs)
    const report = await scrub(this.#ledger.source, read)
    await snapshots.close()
    if (report && !report.ok) {
      this.#failedReport ??= report
      this.#listener.onReport(this.#failedReport)
    }
    return report
  }

  /** An outage of the database must not restart a scrub that takes hours. */
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
