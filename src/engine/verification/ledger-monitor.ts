/**
 * Monitors the ledger. Each check recomputes the commits since the last one and compares all derived rows, as
 * `sluice verify` does for the whole ledger, so its cost depends on what is new. In addition, scrubs verify what was
 * there before. They work in steps of a few milliseconds with longer pauses, because there may be tens of millions of rows
 * while callers are served. Each step reads its own snapshot, so that nothing waits for them and no snapshot gets old. A
 * mismatch stays reported.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { readDeletedRequests } from '../../db/retention/delete-requests.ts'
import { rollUpCursorSql } from '../../db/rollup-cursor.ts'
import {
  compareAccounts,
  lastIdOf,
  sumDeletedRequests,
  sumRows,
  totalsOf,
  type RowGroup,
} from './row-sums.ts'
import {
  afterLastRow,
  beforeFirstRow,
  readLastIds,
  type LedgerSource,
  type ReadSnapshot,
  type SnapshotConnection,
} from './ledger-source.ts'
import { LedgerReplay, LedgerVerification, type LedgerReport } from './replay.ts'

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

/** The id up to which a snapshot sees all request rows: they become visible out of order, but are rolled up in order. */
async function readLastSeenRow(db: Db): Promise<number> {
  const [row] = await db.report<{ position: number }>({ sql: rollUpCursorSql, parameters: [] })
  return row?.position ?? 0
}

/**
 * Rows were deleted before they were checked, after a long sleep of the machine, or a failover has lost commits. The scrubs
 * verify what is left.
 */
async function isHistoryGone(db: Db, { verification, lastSeenRow }: Monitored): Promise<boolean> {
  const { lastRow } = await readDeletedRequests(db)
  return lastRow > lastSeenRow || !(await verification.reader.isHistoryIntact(db))
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
    await using snapshots = this.#ledger.openSnapshots('sluice watch')
    const report = await snapshots.read((db) => this.#verifyNew(db))
    if (!report.ok) this.#failedReport ??= report
    return this.#failedReport ?? report
  }

  async #verifyNew(db: Db): Promise<LedgerReport> {
    if (this.#current && (await isHistoryGone(db, this.#current))) this.#current = null
    const verification = this.#current?.verification ?? (await this.#startAtPresent(db))
    this.#current ??= { verification, lastSeenRow: await readLastSeenRow(db) }
    const report = await verification.verify(db)
    this.#current = { verification, lastSeenRow: await readLastSeenRow(db) }
    return report
  }

  async #startAtPresent(db: Db): Promise<LedgerVerification> {
    const { source } = this.#ledger
    return new LedgerVerification(source, {
      state: await source.readPresent(db),
      heads: await source.readHeads(db),
      marks: await readLastIds(db),
    })
  }

  /** Runs all scrubs, once or, with pauses between, until one finds a mismatch. Retries after a failure. */
  async scrub(pauseMs: number, isRepeated: boolean): Promise<void> {
    await Promise.all([scrubSums, scrubJournal].map((each) => this.#repeat(each, pauseMs, isRepeated)))
  }

  async #repeat(scrub: Scrub, pauseMs: number, isRepeated: boolean): Promise<void> {
    while (!this.#failedReport) {
      const startedAt = performance.now()
      const report = await this.#scrubOnce(scrub, pauseMs)
      if (this.#failedReport || (report && !isRepeated)) return
      await delay(Math.max(pauseMs, report ? (performance.now() - startedAt) * pauseFactor : 0))
    }
  }

  async #scrubOnce(scrub: Scrub, pauseMs: number): Promise<LedgerReport | null> {
    await using snapshots = this.#ledger.openSnapshots('sluice watch of all')
    const read: ReadSnapshot = (work) => this.#retryUntilAvailable(() => snapshots.read(work), pauseMs)
    const report = await scrub(this.#ledger.source, read)
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

/** A few milliseconds of work. */
const rowsPerStep = 5000
/** How much longer than a step the pause after it is: a scrub uses a fifth of one core. */
const pauseFactor = 4

const pauseAfter = (startedAt: number): Promise<void> => delay((performance.now() - startedAt) * pauseFactor)

type Sums = Map<string, RowGroup>

function addGroups(sums: Sums, groups: readonly RowGroup[]): void {
  for (const group of groups) {
    const key = JSON.stringify([group.kind, group.debit, group.credit, group.account])
    const { rows = 0, bills = 0, nanos = 0n } = sums.get(key) ?? {}
    const sum = { rows: rows + group.rows, bills: bills + group.bills, nanos: nanos + group.nanos }
    sums.set(key, { ...group, ...sum })
  }
}

/** The sums of all rows up to this id, which do not change: entries are never deleted, and deleted request rows count. */
export async function sumInSteps(
  read: ReadSnapshot,
  table: 'entries' | 'requests',
  last: number,
): Promise<RowGroup[]> {
  const sums: Sums = new Map()
  let [after, deletedUpTo] = [beforeFirstRow, -1]
  while (after < last) {
    const startedAt = performance.now()
    const { deleted, groups } = await read(async (db) => {
      const { lastRow } = await readDeletedRequests(db)
      // All rows that were read so far are deleted, and contained in the sums of the deleted ones.
      const mustRestart = table === 'requests' && lastRow > Math.max(after, deletedUpTo)
      const range = [mustRestart ? beforeFirstRow : after, last] as const
      return {
        deleted: mustRestart ? { lastRow, groups: await sumDeletedRequests(db) } : null,
        groups: await sumRows(db, table, range, rowsPerStep),
      }
    })
    if (deleted) {
      sums.clear()
      addGroups(sums, deleted.groups)
      deletedUpTo = deleted.lastRow
    }
    addGroups(sums, groups)
    after = groups.length === 0 ? last : lastIdOf(groups, after)
    if (after < last) await pauseAfter(startedAt)
  }
  return [...sums.values()]
}

/** null: the scrub is void because rows that it had read are gone, and must start again. */
export type Scrub = (source: LedgerSource, read: ReadSnapshot) => Promise<LedgerReport | null>

/** Sums all settled rows in steps; the returned function adds the rest in a snapshot. null: rows that were summed are gone. */
async function sumSettled(
  source: LedgerSource,
  read: ReadSnapshot,
): Promise<(db: Db) => Promise<RowGroup[] | null>> {
  const settled = await source.readSettledMarks(read)
  // All rows may be gone, although the last one is never deleted for its age.
  const marks = { ...settled, rowId: Math.max(settled.rowId, (await read(readDeletedRequests)).lastRow) }
  const heads = await read((db) => source.readHeads(db))
  const entries = await sumInSteps(read, 'entries', marks.entryId)
  const requests = await sumInSteps(read, 'requests', marks.rowId)
  return async (db) => {
    const isIntact = await source.containsHeads(db, heads)
    if (!isIntact || (await readDeletedRequests(db)).lastRow > marks.rowId) return null
    const newEntries = await sumRows(db, 'entries', [marks.entryId, afterLastRow])
    const newRequests = await sumRows(db, 'requests', [marks.rowId, afterLastRow])
    return [...entries, ...requests, ...newEntries, ...newRequests]
  }
}

/** Compares the sums of all entries and all request rows, by account, with the balances and with each other. */
export const scrubSums: Scrub = async (source, read) => {
  const sumAll = await sumSettled(source, read)
  const differences = await read(async (db) => {
    const sums = await sumAll(db)
    return sums && compareAccounts(sums, (await source.readState(db)).owners)
  })
  return differences && new LedgerReplay(source).reportWith(differences)
}

/** Verifies the journal from its first commit with all rows, as `sluice verify` does. */
export const scrubJournal: Scrub = async (source, read) => {
  const heads = await read((db) => source.readHeads(db))
  const sumAll = await sumSettled(source, read)
  const verification = new LedgerVerification(source, null)
  const { reader, replay } = verification
  for (let isMore = true; isMore;) {
    const startedAt = performance.now()
    isMore = await read((db) => verification.readPage(db))
    // Commits that were added since the start are read without pauses; otherwise the scrub might never end.
    if (isMore && !reader.hasReached(heads)) await pauseAfter(startedAt)
  }
  const end = await read(async (db) => {
    const sums = await sumAll(db)
    if (sums === null || !(await reader.isHistoryIntact(db))) return null
    while (await verification.readPage(db));
    return { state: await source.readState(db), totals: totalsOf(sums) }
  })
  // Not in the read, which may run again: totals are compared once.
  return end && replay.report(end)
}
