/**
 * Runs jobs one at a time. Owners take turns, so that however much one of them has queued, another waits for at most one
 * job of each owner.
 */
import { StoreError } from './store-error.ts'

/** More waiting jobs of an owner are rejected. A page needs fewer than ten. */
export const maxWaitingJobs = 100
/** Jobs of this owner are not bounded: those of operators and of the relay itself. */
export const systemOwner = ''

export class FairQueue {
  #isRunning = false
  /** What starts the waiting jobs of each owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Resolves with the result of the job. Rejects with StoreError `busy` if too many jobs of the owner are waiting. */
  async run<Result>(owner: string, job: () => Promise<Result>): Promise<Result> {
    if (this.#isRunning) await this.#wait(owner)
    this.#isRunning = true
    try {
      return await job()
    } finally {
      const start = this.#takeNext()
      if (start) start()
      else this.#isRunning = false
    }
  }

  #wait(owner: string): Promise<void> {
    const jobs = this.#waiting.get(owner) ?? []
    if (owner !== systemOwner && jobs.length >= maxWaitingJobs)
      throw new StoreError({ class: 'busy', message: 'Too many queries of one owner are waiting.' })
    const { promise, resolve } = Promise.withResolvers<void>()
    jobs.push(resolve)
    this.#waiting.set(owner, jobs)
    return promise
  }

  #takeNext(): (() => void) | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [owner, jobs] = next
    const start = jobs.shift()
    // The owner goes to the end.
    this.#waiting.delete(owner)
    if (jobs.length > 0) this.#waiting.set(owner, jobs)
    return start
  }
}
