/**
 * Bounds how many reports of an account run at once on a node with PostgreSQL, where each worker has a connection for
 * reports. (With SQLite, one thread runs all of them.) The main thread counts; a worker waits for a slot before the
 * report waits for the worker's connection, so that reports of other accounts pass it.
 */
import type { Db } from '../../db/db.ts'
import { maxWaitingQueries } from '../../db/query-queue.ts'
import { StoreError } from '../../db/store-error.ts'

const maxRunning = 2

interface Report {
  /** The worker's channel. */
  readonly holder: object
  /** Has no effect the second time. */
  readonly start: () => void
}

export class ReportSlots {
  /** The running reports of each account, and behind them the waiting ones. */
  readonly #reports = new Map<string, Report[]>()

  /** Resolves when a report may run; with false, at once, if too many of the account are waiting. */
  async acquire(account: string, holder: object): Promise<boolean> {
    const reports = this.#reports.get(account) ?? []
    if (reports.length >= maxRunning + maxWaitingQueries) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#reports.set(account, [...reports, { holder, start: resolve }])
    this.#startFirst(account)
    await promise
    return true
  }

  /** A report of this holder has ended. */
  release(account: string, holder: object): void {
    const reports = this.#reports.get(account) ?? []
    const ended = reports.findIndex((report) => report.holder === holder)
    this.#keep(
      account,
      reports.filter((_, index) => index !== ended),
    )
  }

  /** The slots as a holder on another thread uses them. */
  forHolder(holder: object): RemoteReportSlots {
    return {
      acquire: (account) => this.acquire(account, holder),
      release: (account) => Promise.resolve(this.release(account, holder)),
    }
  }

  /** The holder is gone, with all its reports. */
  releaseAll(holder: object): void {
    for (const [account, reports] of this.#reports) {
      this.#keep(
        account,
        reports.filter((report) => report.holder !== holder),
      )
    }
  }

  #keep(account: string, reports: Report[]): void {
    if (reports.length === 0) this.#reports.delete(account)
    else this.#reports.set(account, reports)
    this.#startFirst(account)
  }

  #startFirst(account: string): void {
    for (const { start } of this.#reports.get(account)?.slice(0, maxRunning) ?? []) start()
  }
}

/** The slots as a worker uses them. */
export interface RemoteReportSlots {
  acquire(account: string): Promise<boolean>
  release(account: string): Promise<void>
}

/** The same database; the reports of an account wait for a slot, those of operators and the relay do not. */
export function withReportSlots(db: Db, slots: RemoteReportSlots): Db {
  return {
    ...db,
    async report(query, account) {
      if (account === undefined) return db.report(query)
      if (!(await slots.acquire(account)))
        throw new StoreError({ class: 'busy', message: 'Too many reports of one account are waiting.' })
      try {
        return await db.report(query, account)
      } finally {
        void slots.release(account)
      }
    },
  }
}
