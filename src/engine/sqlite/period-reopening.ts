/**
 * Moves owners to the periods of the present after the clock was wrong, on a single node, when they send a request. Until
 * an owner is there, its requests are rejected for a moment, so that no cap is measured without what was spent.
 */
import type { Db } from '../../db/db.ts'
import { periodsToRead, type HoldPeriods } from '../../ledger/reopen.ts'
import { readReopening, SingleReadings } from '../reopening.ts'
import type { LedgerState } from '../../ledger/state.ts'
import type { Operation } from '../../ledger/transaction.ts'

export interface ReopeningDeps {
  readonly db: Pick<Db, 'report' | 'write'>
  /** The ends of all periods that owners have left. */
  readonly leftPeriods: readonly number[]
  /** What an owner spent cannot be read. Called once until it can. */
  readonly onReopeningFailed: (why: string) => void
}

interface ReopenedLedger {
  readonly state: LedgerState
  readonly newest: number
  whenDurable(commit: number): Promise<void>
  decide(operation: Operation<'reopen'>): void
}

export class PeriodReopening {
  readonly #ledger: ReopenedLedger
  readonly #deps: ReopeningDeps
  readonly #readings: SingleReadings
  #left: readonly number[]

  constructor(ledger: ReopenedLedger, deps: ReopeningDeps) {
    this.#ledger = ledger
    this.#deps = deps
    this.#left = deps.leftPeriods
    this.#readings = new SingleReadings(deps.onReopeningFailed)
  }

  /** Whether what a caller spent is not known at the moment; then it is read. */
  isPending(hold: HoldPeriods, timezone: string): boolean {
    const { state } = this.#ledger
    const found = periodsToRead(state.owners, hold, this.#left)
    for (const [id, ends] of found) {
      const owner = state.owners.get(id)
      if (owner === undefined) continue
      void this.#readings.run(id, async () => {
        const entering = { id, timezone, at: hold.at, periods: { ...owner } }
        const totalSpentBefore = owner.totalSpent
        await this.#ledger.whenDurable(this.#ledger.newest)
        const { reopening, left } = await readReopening(this.#deps.db, entering, ends)
        this.#left = [...new Set([...this.#left, ...left])]
        this.#ledger.decide({ kind: 'reopen', reopening: { ...reopening, totalSpentBefore } })
      })
    }
    return found.length > 0
  }

  close(): Promise<void> {
    return this.#readings.close()
  }
}
