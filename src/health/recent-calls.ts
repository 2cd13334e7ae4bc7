/** What has happened lately: answers, faults and latencies of the last minute, in steps of five seconds. */

const stepMs = 5000
const steps = 12

export interface Lately {
  readonly answered: number
  readonly failed: number
  /** Failed ÷ all, from 0 to 1; `null` when nothing was asked. */
  readonly errorRate: number | null
  /** Milliseconds until the first content of a stream, or a whole answer; `null` when none came. */
  readonly latencyMs: number | null
}

export class Recent {
  readonly #answered = new Float64Array(steps)
  readonly #failed = new Float64Array(steps)
  readonly #latencyMs = new Float64Array(steps)
  #step = 0
  /** When anything was last heard; milliseconds since the epoch. */
  heardAt = 0

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

  /** `latencyMs`: of all these answers together. */
  answered(count: number, latencyMs: number, now: number): void {
    const index = this.#advance(now)
    this.heardAt = now
    this.#answered[index] = (this.#answered[index] ?? 0) + count
    this.#latencyMs[index] = (this.#latencyMs[index] ?? 0) + latencyMs
  }

  failed(now: number): void {
    const index = this.#advance(now)
    this.heardAt = now
    this.#failed[index] = (this.#failed[index] ?? 0) + 1
  }

  /** A new beginning: what was before it healed does not count against it. */
  forget(): void {
    for (let index = 0; index < steps; index += 1) this.#clear(index)
  }

  at(now: number): Lately {
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
