/**
 * Returns owners to the periods of the present after the clock was ahead, on a single node. Until an owner is back, its
 * requests are rejected for a moment, so that no cap is measured without what was spent.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Directory } from '../../accounts/directory.ts'
import type { Db } from '../../db/db.ts'
import type { PeriodSpendingRow } from '../../db/period-spending.ts'
import { dayEndOf, monthEndOf } from '../../ledger/periods.ts'
import { periodsToReopen, reopen } from '../../ledger/reopen.ts'
import { accountOwner, keyOwner, modelOwner, type LedgerState, type Owner } from '../../ledger/state.ts'
import type { CommitQueue } from './commit-queue.ts'
import { readReopening } from './reopening.ts'

/** How long to wait for a store that rejects commits. */
const retryMs = 500

export interface PeriodReopeningDeps {
  readonly state: LedgerState
  readonly commits: CommitQueue
  readonly directory: Directory
  readonly db: Db
  readonly now: () => number
  /** Resolves when a commit is on disk. */
  readonly whenDurable: (commit: number) => Promise<void>
}

export class PeriodReopening {
  readonly #deps: PeriodReopeningDeps
  readonly #ahead = new Set<string>()
  #running: Promise<void> | null = null
  #isClosed = false

  constructor(deps: PeriodReopeningDeps) {
    this.#deps = deps
  }

  /**
   * Finds the owners whose periods have not begun, and resolves when they are back. Called at the start, and by the first
   * decision that finds the clock set back, which must not use their periods.
   */
  async find(at: number): Promise<void> {
    for (const [id, owner] of this.#deps.state.owners) {
      const timezone = this.#timezoneOf(id)
      if (timezone !== undefined && this.#endsFor(owner, timezone, at) !== null) this.#ahead.add(id)
    }
    if (this.#ahead.size > 0) this.#running ??= this.#run()
    await this.#running
  }

  /** Whether the periods of a caller are not known at the moment. */
  isPending(account: string, key: string, model: string): boolean {
    if (this.#ahead.size === 0) return false
    const owners = [accountOwner(account), keyOwner(key), modelOwner(account, model)]
    return owners.some((owner) => this.#ahead.has(owner))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
  }

  async #run(): Promise<void> {
    for (const id of this.#ahead) {
      while (!this.#isClosed && !(await this.#reopen(id).catch(() => false))) await delay(retryMs)
      this.#ahead.delete(id)
    }
    this.#running = null
  }

  /** False: the store is unavailable. */
  async #reopen(id: string): Promise<boolean> {
    const { state, commits, db, now, whenDurable } = this.#deps
    const [owner, timezone, at] = [state.owners.get(id), this.#timezoneOf(id), now()]
    const ends = owner && timezone !== undefined ? this.#endsFor(owner, timezone, at) : null
    if (owner === undefined || timezone === undefined || ends === null) return true
    const spentBefore = owner.totalSpent
    await whenDurable(commits.newest)
    const reopening = await readReopening(
      (query) => db.first<PeriodSpendingRow>(query),
      { id, timezone, at },
      ends,
    )
    // What was charged meanwhile may or may not be in the rows: a cap rather counts it twice than not at all.
    const charged = owner.totalSpent - spentBefore
    const { daySpent, monthSpent } = reopening
    const counted = { daySpent: daySpent + charged, monthSpent: monthSpent + charged }
    commits.add(reopen(state, { ...reopening, ...counted }), [id], '')
    return true
  }

  #endsFor(owner: Owner, timezone: string, at: number): ReturnType<typeof periodsToReopen> {
    const present = { dayEnd: dayEndOf(timezone, at), monthEnd: monthEndOf(timezone, at) }
    return periodsToReopen(owner, at, present)
  }

  /** Of the owner's account; `undefined` if it was deleted. */
  #timezoneOf(owner: string): string | undefined {
    const { directory } = this.#deps
    const id = owner.slice(2)
    if (owner.startsWith(keyOwner(''))) return directory.callerByKeyId(id)?.timezone
    const colon = id.indexOf(':')
    return directory.account(colon === -1 ? id : id.slice(0, colon))?.timezone
  }
}
