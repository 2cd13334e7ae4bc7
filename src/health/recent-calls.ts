/** Counts responses, failures and latencies of the last minute, in steps of five seconds. */

const stepMs = 5000
const steps = 12

export interface RecentStats {
  readonly answered: number
  readonly failed: number
  /** Failed ÷ all, from 0 to 1; `null` without calls. */
  readonly errorRate: number | null
  /** Mean milliseconds until the first content of a stream, or a buffered response; `null` without responses. */
  readonly latencyMs: number | null
}

export class RecentCalls {
  readonly #answered = new Float64Array(steps)
  readonly #failed = new Float64Array(steps)
  readonly #latencyMs = new Float64Array(steps)
  #step = 0
  /** When the last call was recorded; milliseconds since the epoch. */
  lastCallAt = 0

  #advance(now: number): number {
    const step = Math.floor(now / stepMs)
    const passed = Math.min(step - this.#step, steps)
    for (let ahead = 1; ahead <= passed; ahead += 1) this.#clear((this.#step + ahead) % steps)
    if (step > this.#step) this.#step = step
    return this.#step % steps
  }

  #clear(index: number): void {
    this.#answered[index] = 0
    this.#failed[index] = 0
    this.#latencyMs[index] = 0
  }

  /** `latencyMs`: the sum over all these responses. */
  addSuccesses(count: number, latencyMs: number, now: number): void {
    const index = this.#advance(now)
    this.lastCallAt = now
    this.#answered[index] = (this.#answered[index] ?? 0) + count
    this.#latencyMs[index] = (this.#latencyMs[index] ?? 0) + latencyMs
  }

  addFailure(now: number): void {
    const index = this.#advance(now)
    this.lastCallAt = now
    this.#failed[index] = (this.#failed[index] ?? 0) + 1
  }

  /** Starts anew: failures before the recovery do not count against it. */
  reset(): void {
    for (let index = 0; index < steps; index += 1) this.#clear(index)
  }

  stats(now: number): RecentStats {
    this.#advance(now)
    const sum = (counts: Float64Array): number => counts.reduce((total, count) => total + count, 0)
    const answered = sum(this.#answered)
    const failed = sum(this.#failed)
    const all = answered + failed
    return {
      answered,
      failed,
      errorRate: all === 0 ? null : failed / all,
      latencyMs: answered === 0 ? null : sum(this.#latencyMs) / answered,
    }
  }
}
