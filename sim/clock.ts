/** The clocks of a simulated node: one that may be set, and a monotonic one. */
import { dayMs } from './hold-operation.ts'
import type { Prng } from './prng.ts'

export class SimClock {
  readonly #prng: Prng
  now: number
  /** The highest time that the clock has shown. */
  latest: number
  monotonicMs = 0

  constructor(prng: Prng) {
    this.#prng = prng
    this.now = 1_000 * dayMs + prng.below(dayMs)
    this.latest = this.now
  }

  /** Time passes or the clock is set, often past the end of a period. */
  advance(): void {
    const prng = this.#prng
    if (prng.bool(0.1)) this.now += prng.between(-2 * dayMs, 2 * dayMs)
    else {
      const passed = prng.below(prng.bool(0.3) ? dayMs : dayMs / 20)
      this.now += passed
      this.monotonicMs += passed
    }
    this.latest = Math.max(this.latest, this.now)
  }
}
