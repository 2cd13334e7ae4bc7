/**
 * Runs jobs one at a time. Owners take turns, so that however much one of them has queued, another waits for at most one
 * job of each owner.
 */

/** Jobs of this owner are not bounded: those of operators and of the relay itself. */
export const systemOwner = ''

export interface FairQueueOptions {
  /** More waiting jobs of one owner are rejected. */
  readonly maxWaitingOfOwner: number
  /** More waiting jobs of all owners are rejected; absent: any number may wait. */
  readonly maxWaiting?: number
  /** What rejected jobs throw. */
  readonly rejection: () => Error
}

export class FairQueue {
  readonly #options: FairQueueOptions
  #isRunning = false
  #waitingCount = 0
  /** What starts the waiting jobs of each owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  /** Resolves with the result of the job. Rejects if too many jobs are waiting. */
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
    const { maxWaitingOfOwner, maxWaiting = Infinity, rejection } = this.#options
    const jobs = this.#waiting.get(owner) ?? []
    const isBounded = owner !== systemOwner
    if (isBounded && (jobs.length >= maxWaitingOfOwner || this.#waitingCount >= maxWaiting)) throw rejection()
    const { promise, resolve } = Promise.withResolvers<void>()
    jobs.push(resolve)
    this.#waitingCount += 1
    this.#waiting.set(owner, jobs)
    return promise
  }

  #takeNext(): (() => void) | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [owner, jobs] = next
    const start = jobs.shift()
    this.#waitingCount -= 1
    // The owner goes to the end.
    this.#waiting.delete(owner)
    if (jobs.length > 0) this.#waiting.set(owner, jobs)
    return start
  }
}
