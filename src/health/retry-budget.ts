/**
 * The retry budget of a node: a fifth of the requests of the last thirty seconds, and at least ten per second. If
 * everything fails, retries do not triple the load on the remaining upstreams.
 */

const windowSeconds = 30
const retryRatio = 0.2
const minRetriesPerSecond = 10

export class RetryBudget {
  readonly #requests = new Float64Array(windowSeconds)
  readonly #retries = new Float64Array(windowSeconds)
  #second = 0
  /** Since the start. */
  granted = 0
  denied = 0

  #advance(now: number): number {
    const second = Math.floor(now / 1000)
    const passed = Math.min(second - this.#second, windowSeconds)
    for (let ahead = 1; ahead <= passed; ahead += 1) {
      const index = (this.#second + ahead) % windowSeconds
      this.#requests[index] = 0
      this.#retries[index] = 0
    }
    if (second > this.#second) this.#second = second
    return this.#second % windowSeconds
  }

  /** Records an admitted request. `now`: milliseconds. */
  recordRequest(now: number): void {
    const index = this.#advance(now)
    this.#requests[index] = (this.#requests[index] ?? 0) + 1
  }

  /** Takes one retry; false if the budget is used up. */
  tryTake(now: number): boolean {
    const index = this.#advance(now)
    const sum = (counts: Float64Array): number => counts.reduce((total, count) => total + count, 0)
    const allowed = Math.max(sum(this.#requests) * retryRatio, minRetriesPerSecond * windowSeconds)
    if (sum(this.#retries) + 1 > allowed) {
      this.denied += 1
      return false
    }
    this.#retries[index] = (this.#retries[index] ?? 0) + 1
    this.granted += 1
    return true
  }
}
