/**
 * The owners of a batch that enter other periods after a clock was wrong, and what they spent in them. It is read outside
 * of the batch's transaction, which has rows locked; meanwhile the owner's holds wait.
 */
import { parseLeftPeriods } from '../../db/left-periods.ts'
import { hasOlderNodes } from '../../db/postgres/nodes.ts'
import type { LockedRows } from '../../db/postgres/lock-batch.ts'
import type { PeriodEnds } from '../../ledger/periods.ts'
import { periodsToRead, type Reopening } from '../../ledger/reopen.ts'
import type { Owner } from '../../ledger/state.ts'
import type { Operation } from '../../ledger/transaction.ts'
import { OpenPeriodCache } from '../request-operations.ts'
import { readReopening, SingleReadings, type EnteringOwner } from '../reopening.ts'
import { abandon, type QueuedOperation } from './queued-operations.ts'
import type { SharedLedgerDeps } from './shared-ledger-deps.ts'

/** The clock of a node may differ from the database's by this much; otherwise the database's counts. */
const maxClockDifferenceMs = 60_000
/** How long what was read can be used. */
const readingTtlMs = 60_000
/** A hold waits for this many readings, in case other nodes move its owners meanwhile. */
const maxReadings = 3
/** The first release whose journal has the event. */
const firstRelease = [0, 3] as const

type ReopeningReaderDeps = Pick<SharedLedgerDeps, 'db' | 'listener'>

const hasSameEnds = (one: PeriodEnds, other: PeriodEnds): boolean =>
  one.dayEnd === other.dayEnd && one.monthEnd === other.monthEnd

interface Reading {
  readonly reopening: Reopening
  /** The periods that the owner leaves. */
  readonly from: PeriodEnds
  readonly readAt: number
}

export class ReopeningReader {
  /** Holds of owners whose spending is being read. */
  readonly waiting = new Set<QueuedOperation>()
  readonly #deps: ReopeningReaderDeps
  readonly #periods = new OpenPeriodCache()
  readonly #readings = new Map<string, Reading>()
  readonly #running: SingleReadings
  readonly #readingsByHold = new WeakMap<QueuedOperation, number>()
  readonly #resume: (hold: QueuedOperation) => void

  /** `resume`: queues a hold again whose owners' spending was read. */
  constructor(deps: ReopeningReaderDeps, resume: (hold: QueuedOperation) => void) {
    this.#deps = deps
    this.#resume = resume
    this.#running = new SingleReadings((why) => deps.listener.onReopeningFailed(why))
  }

  /**
   * Returns the reopenings of a batch, whose rows are locked. Removes the holds of owners whose spending is not known yet,
   * and resumes them when it is read. A hold of a node whose clock is wrong gets the database's time.
   */
  take(
    operations: QueuedOperation[],
    owners: ReadonlyMap<string, Owner>,
    { now, leftPeriods }: Pick<LockedRows, 'now' | 'leftPeriods'>,
  ): Reopening[] {
    const left = parseLeftPeriods(leftPeriods)
    const taken = new Map<string, Reopening>()
    for (const each of operations) {
      if (each.operation.kind !== 'hold' || each.isAbandoned) continue
      const { hold, timezone } = (each.operation = this.#withTrueTime(each.operation, now))
      const reads: Promise<boolean>[] = []
      for (const [id, ends] of periodsToRead(owners, hold, left)) {
        const owner = owners.get(id)
        if (owner === undefined || taken.has(id)) continue
        const reopening = this.#takeReading(id, owner, ends)
        if (reopening !== undefined) taken.set(id, reopening)
        else {
          const entering = { id, timezone, at: now, periods: { ...owner } }
          reads.push(this.#read(entering, owner, ends))
        }
      }
      if (reads.length > 0) void this.#resumeAfter(each, reads)
    }
    // Of nearly every batch, no hold waits.
    if (this.waiting.size > 0) {
      const present = operations.filter((each) => !this.waiting.has(each))
      operations.splice(0, operations.length, ...present)
    }
    return [...taken.values()]
  }

  async #resumeAfter(operation: QueuedOperation, reads: readonly Promise<boolean>[]): Promise<void> {
    const readings = (this.#readingsByHold.get(operation) ?? 0) + 1
    this.#readingsByHold.set(operation, readings)
    this.waiting.add(operation)
    const areRead = (await Promise.all(reads)).every(Boolean)
    this.waiting.delete(operation)
    if (areRead && readings <= maxReadings && !operation.isAbandoned) this.#resume(operation)
    else abandon(operation)
  }

  #withTrueTime(operation: Operation<'hold'>, now: number): Operation<'hold'> {
    const { hold, timezone } = operation
    if (Math.abs(hold.at - now) <= maxClockDifferenceMs) return operation
    return { ...operation, hold: { ...hold, at: now, ...this.#periods.at(timezone, now) } }
  }

  #takeReading(id: string, owner: Owner, ends: PeriodEnds): Reopening | undefined {
    const reading = this.#readings.get(id)
    if (reading === undefined) return undefined
    this.#readings.delete(id)
    const { reopening, from, readAt } = reading
    const isSame = hasSameEnds(reopening, ends) && hasSameEnds(from, owner)
    return isSame && performance.now() - readAt <= readingTtlMs ? reopening : undefined
  }

  #read(
    entering: EnteringOwner,
    { totalSpent: totalSpentBefore }: Owner,
    ends: PeriodEnds,
  ): Promise<boolean> {
    const { db } = this.#deps
    return this.#running.run(entering.id, async () => {
      if (await hasOlderNodes(db, firstRelease))
        throw new Error('nodes of releases before 0.3.0 cannot read the event; upgrade or retire them')
      const { reopening: read } = await readReopening(db, entering, ends)
      const reopening = { ...read, totalSpentBefore }
      this.#readings.set(entering.id, { reopening, from: entering.periods, readAt: performance.now() })
    })
  }
}
