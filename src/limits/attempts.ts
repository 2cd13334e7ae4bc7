/**
 * How often somebody may try what guessing could open: signing in, codes, links, vouchers. Counted in one place per
 * process, by address and by what is tried, whether it exists or not.
 */

import { RateLimiterMemory } from 'rate-limiter-flexible'
import { refuse } from '../errors.ts'

/** Tries within so many seconds. */
const rules = {
  'sign-in-address': { points: 60, duration: 900 },
  'sign-in-email': { points: 10, duration: 900 },
  'sign-up-address': { points: 20, duration: 3600 },
  'link-address': { points: 60, duration: 900 },
  /** Letters to one address. */
  'mail-email': { points: 5, duration: 3600 },
  'mail-address': { points: 30, duration: 3600 },
  /** Showing one's own password again, and codes of a new authenticator. */
  'proof-person': { points: 10, duration: 900 },
  'voucher-account': { points: 20, duration: 3600 },
} as const

export type AttemptRule = keyof typeof rules

export class Attempts {
  readonly #limiters = new Map<AttemptRule, RateLimiterMemory>()

  #limiter(rule: AttemptRule): RateLimiterMemory {
    const known = this.#limiters.get(rule)
    if (known !== undefined) return known
    const limiter = new RateLimiterMemory(rules[rule])
    this.#limiters.set(rule, limiter)
    return limiter
  }

  /** Counts one try. Throws 429 with the time to wait when there were too many. */
  async count(rule: AttemptRule, subject: string): Promise<void> {
    const limiter = this.#limiter(rule)
    const { consumedPoints, msBeforeNext } = await limiter.penalty(subject)
    if (consumedPoints <= limiter.points) return
    throw refuse('rate_limit_exceeded', {
      message: 'Too many tries. Wait a little.',
      retryAfterMs: msBeforeNext,
    })
  }

  /** It was no guess. */
  async forgive(rule: AttemptRule, subject: string): Promise<void> {
    await this.#limiter(rule).delete(subject)
  }
}
