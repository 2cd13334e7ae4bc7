/**
 * The owners of a batch that enter other periods after a clock was wrong, and what they spent in them. It is read outside
 * of the batch's transaction, which has rows locked, while the owner's requests are rejected for a moment.
 */
import { parseLeftPeriods } from '../../../db/left-periods.ts'
import { hasOlderNodes } from '../../../db/postgres/nodes.ts'
import type { LockedRows } from '../../../db/postgres/lock-batch.ts'
import type { PeriodEnds } from '../../../ledger/caps.ts'
import type { Reopened } from '../../../ledger/events.ts'
import { periodsToRead } from '../../../ledger/reopen.ts'
import type { Owner } from '../../../ledger/state.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { OpenPeriodCache } from '../../ledger/hold-operation.ts'
import { readReopening, type EnteringOwner } from '../../ledger/reopening.ts'
import { abandon, type QueuedHold, type QueuedOperation } from './queued-operations.ts'
import type { SharedLedgerDeps } from './shared-ledger-deps.ts'

/** The clock of a node may differ from the database's by this much; otherwise the database's counts. */
const maxClockDifferenceMs = 60_000
/** How long what was read can be used. Longer than rejected callers wait. */
const readingTtlMs = 60_000
/** The first release whose journal has the event. */
const firstRelease = [0, 3] as const

type ReopeningReaderDeps = Pick<SharedLedgerDeps, 'db' | 'listener'>

const hasSameEnds = (one: PeriodEnds, other: PeriodEnds): boolean =>
  one.dayEnd === other.dayEnd && one.monthEnd === other.monthEnd

interface Reading {
  readonly reopening: Omit<Reopened, 'kind'>
  /** The periods that the owner leaves. */
  readonly from: PeriodEnds
  /** What the owner had spent ever, before its rows were read. */
  readonly totalSpent: bigint
  readonly readAt: number
}

export class ReopeningReader {
  readonly #deps: ReopeningReaderDeps
  readonly #periods = new OpenPeriodCache()
  readonly #readings = new Map<string, Reading>()
  readonly #running = new Set<string>()
  #hasFailed = false

  constructor(deps: ReopeningReaderDeps) {
    this.#deps = deps
  }

  /**
   * Returns the reopenings of a batch, whose rows are locked. Rejects the holds of owners whose spending is not known yet,
   * and reads it. A hold of a node whose clock is wrong gets the database's time.
   */
  take(
    operations: readonly QueuedOperation[],
    owners: ReadonlyMap<string, Owner>,
    { now, leftPeriods }: Pick<LockedRows, 'now' | 'leftPeriods'>,
  ): Omit<Reopened, 'kind'>[] {
    const left = parseLeftPeriods(leftPeriods)
    const taken = new Map<string, Omit<Reopened, 'kind'>>()
    for (const operation of operations) {
      if (operation.kind !== 'hold' || operation.isAbandoned) continue
      this.#correctTime(operation, now)
      for (const [id, ends] of periodsToRead(owners, operation.hold, left)) {
        const owner = owners.get(id)
        if (owner === undefined || taken.has(id)) continue
        const reopening = this.#takeReading(id, owner, ends)
        if (reopening !== undefined) taken.set(id, reopening)
        else {
          void this.#read({ id, timezone: operation.timezone, at: now, periods: { ...owner } }, owner, ends)
          abandon(operation)
        }
      }
    }
    return [...taken.values()]
  }

  #correctTime(operation: QueuedHold, now: number): void {
    const { hold, timezone } = operation
    if (Math.abs(hold.at - now) <= maxClockDifferenceMs) return
    operation.hold = { ...hold, at: now, ...this.#periods.at(timezone, now) }
  }

  /** What was charged since the rows were read is added; it may be in them, and rather counts twice than not at all. */
  #takeReading(id: string, owner: Owner, ends: PeriodEnds): Omit<Reopened, 'kind'> | undefined {
    const reading = this.#readings.get(id)
    if (reading === undefined) return undefined
    this.#readings.delete(id)
    const { reopening, from, totalSpent, readAt } = reading
    const isSame = hasSameEnds(reopening, ends) && hasSameEnds(from, owner)
    if (!isSame || performance.now() - readAt > readingTtlMs) return undefined
    const charged = owner.totalSpent - totalSpent
    const { daySpent, monthSpent } = reopening
    return { ...reopening, daySpent: daySpent + charged, monthSpent: monthSpent + charged }
  }

  async #read(entering: EnteringOwner, { totalSpent }: Owner, ends: PeriodEnds): Promise<void> {
    const { id } = entering
    if (this.#running.has(id)) return
    this.#running.add(id)
    try {
      if (await hasOlderNodes(this.#deps.db, firstRelease))
        throw new Error('nodes of releases before 0.3.0 cannot read the event; upgrade or retire them')
      const { reopening } = await readReopening(this.#deps.db, entering, ends)
      this.#readings.set(id, { reopening, from: entering.periods, totalSpent, readAt: performance.now() })
      this.#hasFailed = false
    } catch (error) {
      // The next request of the owner tries again.
      if (!this.#hasFailed) this.#deps.listener.onReopeningFailed(errorMessage(error))
      this.#hasFailed = true
    }
    this.#running.delete(id)
  }
}
