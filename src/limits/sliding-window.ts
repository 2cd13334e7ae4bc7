/**
 * A sliding window of a minute in steps of a second: never more than the limit in any 60 s. The current second and the
 * 60 before it count, so no 60 s, wherever they start, exceed the limit.
 */

export const windowSeconds = 61
const steps: number = windowSeconds

export class SlidingWindow {
  readonly #counts = new Float64Array(steps)
  #second = 0
  #sum = 0

  /** Drops the seconds that have left the window. `second`: seconds since the epoch; never goes back. */
  #advance(second: number): void {
    const passed = second - this.#second
    if (passed <= 0) return
    for (let step = 1; step <= Math.min(passed, steps); step += 1) {
      const index = (this.#second + step) % steps
      this.#sum -= this.#counts[index] ?? 0
      this.#counts[index] = 0
    }
    this.#second = second
  }

  /** The amount in the window at this second. */
  used(second: number): number {
    this.#advance(second)
    return this.#sum
  }

  /**
   * Adds to a second, or subtracts if negative. A second that has left the window is ignored; none falls below zero.
   */
  add(second: number, amount: number): void {
    this.#advance(second)
    if (this.#second - second >= steps) return
    const index = second % steps
    const before = this.#counts[index] ?? 0
    const after = Math.max(0, before + amount)
    this.#counts[index] = after
    this.#sum += after - before
  }

  /** Seconds from `second` until `amount` more fits within `limit`; Infinity if it never does. */
  secondsUntilFits(second: number, amount: number, limit: number): number {
    if (amount > limit) return Infinity
    let used = this.used(second)
    for (let wait = 0; wait <= steps; wait += 1) {
      if (wait > 0) used -= this.#counts[(second + wait) % steps] ?? 0
      if (used + amount <= limit) return wait
    }
    return steps
  }
}
