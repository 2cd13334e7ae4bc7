/**
 * The database is away: for a moment whoever asks for money waits, for most absences are over sooner (a restart, a
 * connection that breaks); then everybody is sent away until it is back.
 */
import { giveUp, type Work } from './work.ts'

/** How long callers wait for a database that has just gone. */
const patienceMs = 5000
/** Requests that wait; more are sent away at once. */
const waitingMost = 10_000

export interface AbsenceListener {
  /** Patience is over: who waits is sent away, and nobody new is let in. */
  lost(why: string): void
  /** It is back after all. */
  found(): void
}

export class Absence {
  readonly #listener: AbsenceListener
  #patience: NodeJS.Timeout | undefined
  /** Nothing can be asked of the database at this moment. */
  isNow = false
  /** It is away for longer than anybody waits. */
  isLong = false

  constructor(listener: AbsenceListener) {
    this.#listener = listener
  }

  /** It does not answer; `isForLong`: nobody need wait. */
  begin(why: string, isForLong: boolean): void {
    if (this.isNow && !isForLong) return
    this.isNow = true
    clearTimeout(this.#patience)
    if (isForLong) this.#lose(why)
    else this.#patience = setTimeout(() => this.#lose(why), patienceMs)
  }

  end(): void {
    clearTimeout(this.#patience)
    this.isNow = false
    if (!this.isLong) return
    this.isLong = false
    this.#listener.found()
  }

  close(): void {
    clearTimeout(this.#patience)
  }

  /** Whether a work that has come just now is sent away, where so many others wait. */
  sendsAway(work: Work, waiting: number): boolean {
    if (!('isGivenUp' in work) || !(this.isLong || (this.isNow && waiting >= waitingMost))) return false
    giveUp(work)
    return true
  }

  #lose(why: string): void {
    if (this.isLong) return
    this.isLong = true
    this.#listener.lost(why)
  }
}
