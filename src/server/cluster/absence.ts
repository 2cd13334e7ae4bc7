/**
 * The database is away: for a moment whoever asks for money waits, for most absences are over sooner (a restart, a
 * connection that breaks); then everybody is sent away until it is back.
 */
import { giveUp, type Work } from './work.ts'

/** Requests that wait; more are sent away at once, and no more rows of refused ones are written. */
const waitingMost = 10_000

export interface AbsenceListener {
  /** Patience is over: who waits is sent away, and nobody new is let in. */
  lost(why: string): void
  /** It is back after all. */
  found(): void
}

export class Absence {
  readonly #listener: AbsenceListener
  readonly #patienceMs: number
  #patience: NodeJS.Timeout | undefined
  /** It was long away, and has taken nothing since: it answers, but its disk is full, say. */
  #isDoubtful = false
  /** Nothing can be asked of the database at this moment. */
  isNow = false
  /** It is away for longer than anybody waits. */
  isLong = false

  /** `patienceMs`: how long callers wait for a database that has just gone. */
  constructor(listener: AbsenceListener, patienceMs = 5000) {
    this.#listener = listener
    this.#patienceMs = patienceMs
  }

  /** It does not answer; `isForLong`: nobody need wait. */
  begin(why: string, isForLong: boolean): void {
    if (this.isNow && !isForLong) return
    this.isNow = true
    clearTimeout(this.#patience)
    if (isForLong || this.#isDoubtful) this.#lose(why)
    else this.#patience = setTimeout(() => this.#lose(why), this.#patienceMs)
  }

  /** It answers; `hasTaken`: and has taken what it was given. */
  end(hasTaken: boolean): void {
    clearTimeout(this.#patience)
    this.isNow = false
    if (hasTaken) this.#isDoubtful = false
    if (!this.isLong) return
    this.isLong = false
    this.#listener.found()
  }

  close(): void {
    clearTimeout(this.#patience)
  }

  /** Whether a work that has come just now is sent away, where so many others wait. */
  sendsAway(work: Work, waiting: number): boolean {
    const isTooMany = waiting >= waitingMost
    if (work.kind === 'row') return this.isNow && isTooMany
    if (!('isGivenUp' in work) || !(this.isLong || isTooMany)) return false
    giveUp(work)
    return true
  }

  #lose(why: string): void {
    if (this.isLong) return
    this.isLong = true
    this.#isDoubtful = true
    this.#listener.lost(why)
  }
}
