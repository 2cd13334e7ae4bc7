/**
 * Moves owners to the periods of the present after the clock was wrong, on a single node, when they send a request. Until
 * an owner is there, its requests are rejected for a moment, so that no cap is measured without what was spent.
 */
import type { Db } from '../../db/db.ts'
import type { PeriodEnds } from '../../ledger/caps.ts'
import { periodsToRead, type HoldPeriods } from '../../ledger/reopen.ts'
import type { Owner } from '../../ledger/state.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { EmbeddedLedger } from './embedded-ledger.ts'
import { readReopening, type EnteringOwner } from '../reopening.ts'

export interface PeriodReopeningDeps {
  readonly ledger: Pick<EmbeddedLedger, 'state' | 'decide'>
  readonly commits: Pick<CommitQueue, 'newest'>
  readonly db: Pick<Db, 'report' | 'write'>
  /** Resolves when a commit is on disk. */
  readonly whenDurable: (commit: number) => Promise<void>
  /** What an owner spent cannot be read. Called once until it can. */
  readonly onError: (why: string) => void
}

export class PeriodReopening {
  readonly #deps: PeriodReopeningDeps
  /** The ends of all periods that owners have left. */
  #left: readonly number[]
  readonly #running = new Map<string, Promise<void>>()
  #hasFailed = false

  constructor(deps: PeriodReopeningDeps, left: readonly number[]) {
    this.#deps = deps
    this.#left = left
  }

  /** Whether what a caller spent is not known at the moment; then it is read. */
  isPending(hold: HoldPeriods, timezone: string): boolean {
    const { owners } = this.#deps.ledger.state
    const found = periodsToRead(owners, hold, this.#left)
    for (const [id, ends] of found) {
      const owner = owners.get(id)
      if (owner === undefined || this.#running.has(id)) continue
      const entering = { id, timezone, at: hold.at, periods: { ...owner } }
      this.#running.set(id, this.#run(entering, owner, ends))
    }
    return found.length > 0
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #run(entering: EnteringOwner, owner: Owner, ends: PeriodEnds): Promise<void> {
    try {
      await this.#reopen(entering, owner, ends)
      this.#hasFailed = false
    } catch (error) {
      // The next request of the owner tries again.
      if (!this.#hasFailed) this.#deps.onError(errorMessage(error))
      this.#hasFailed = true
    }
    this.#running.delete(entering.id)
  }

  async #reopen(entering: EnteringOwner, owner: Owner, ends: PeriodEnds): Promise<void> {
    const { ledger, commits, db, whenDurable } = this.#deps
    const totalSpentBefore = owner.totalSpent
    await whenDurable(commits.newest)
    const { reopening, left } = await readReopening(db, entering, ends)
    this.#left = [...new Set([...this.#left, ...left])]
    ledger.decide({ kind: 'reopen', reopening: { ...reopening, totalSpentBefore } })
  }
}
