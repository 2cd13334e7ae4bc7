/**
 * Compares the rate limiter with a reference implementation that keeps every event: admissions, waits and status must
 * be equal.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { modelSubject, RateLimiter, type RateLimitSubject, type RateLimits } from './rate-limiter.ts'
import { windowSeconds } from './sliding-window.ts'

interface Amount {
  readonly second: number
  readonly amount: number
}

interface Reserved {
  readonly claims: readonly RateLimitSubject[]
  readonly requests: Amount
  readonly tokens: Amount
}

/** Keeps every event with its second, for each subject. */
class ReferenceLimiter {
  readonly #requests = new Map<string, Set<Amount>>()
  readonly #tokens = new Map<string, Set<Amount>>()
  readonly #running = new Map<string, Reserved>()

  #of(kind: 'requests' | 'tokens', subject: string): Set<Amount> {
    const all = kind === 'requests' ? this.#requests : this.#tokens
    const known = all.get(subject) ?? new Set()
    all.set(subject, known)
    return known
  }

  isRunning(id: string): boolean {
    return this.#running.has(id)
  }

  used(kind: 'requests' | 'tokens', subject: string, now: number): number {
    const second = Math.floor(now / 1000)
    let sum = 0
    for (const each of this.#of(kind, subject)) if (each.second > second - windowSeconds) sum += each.amount
    return sum
  }

  /** True if the windows have room, regardless of slots. */
  fitsWindows(subjects: readonly RateLimitSubject[], tokens: number, now: number): boolean {
    return subjects.every(({ subject, limits: { rpm, tpm } }) => {
      if (rpm !== null && this.used('requests', subject, now) + 1 > rpm) return false
      return tpm === null || this.used('tokens', subject, now) + tokens <= tpm
    })
  }

  hasSlots(subjects: readonly RateLimitSubject[]): boolean {
    return subjects.every(({ subject, limits: { concurrency } }) => {
      let running = 0
      for (const each of this.#running.values())
        if (each.claims.some((claim) => claim.subject === subject)) running += 1
      return concurrency === null || running < concurrency
    })
  }

  reserve(id: string, subjects: readonly RateLimitSubject[], tokens: number, now: number): void {
    const second = Math.floor(now / 1000)
    const reserved = { claims: subjects, requests: { second, amount: 1 }, tokens: { second, amount: tokens } }
    this.#running.set(id, reserved)
    for (const { subject } of subjects) {
      this.#of('requests', subject).add(reserved.requests)
      this.#of('tokens', subject).add(reserved.tokens)
    }
  }

  cancel(id: string): void {
    const reserved = this.#running.get(id)
    this.#running.delete(id)
    for (const { subject } of reserved?.claims ?? []) {
      if (reserved) this.#of('requests', subject).delete(reserved.requests)
      if (reserved) this.#of('tokens', subject).delete(reserved.tokens)
    }
  }

  finish(id: string, tokens: number, now: number): void {
    const reserved = this.#running.get(id)
    this.#running.delete(id)
    if (!reserved) return
    const surplus = tokens - reserved.tokens.amount
    const second = surplus < 0 ? reserved.tokens.second : Math.floor(now / 1000)
    for (const { subject } of reserved.claims) this.#of('tokens', subject).add({ second, amount: surplus })
  }
}

const start = 1_790_000_000_000
const optionalLimit = (max: number): fc.Arbitrary<number | null> => fc.option(fc.nat(max), { freq: 3 })
const limits: fc.Arbitrary<RateLimits> = fc.record({
  rpm: optionalLimit(6),
  tpm: optionalLimit(900),
  concurrency: optionalLimit(4),
})
/** An operation, its subject, the elapsed time and the tokens: digits of one number, which is cheap to generate. */
const step = fc.nat(2 ** 30)

/** Two accounts with two keys and two models each. A model has the limits, an account the windows. */
function subjectsFor(who: number, all: readonly RateLimits[]): RateLimitSubject[] {
  const [account, key, model] = [who & 1, (who >> 1) & 1, (who >> 2) & 1]
  const none: RateLimits = { rpm: null, tpm: null, concurrency: null }
  return [
    { subject: `account:${account}`, limits: all[0] ?? none },
    { subject: `key:${account}${key}`, limits: all[1] ?? none },
    { subject: modelSubject(String(account), String(model)), limits: all[2 + model] ?? none },
  ]
}

function minRemaining(
  reference: ReferenceLimiter,
  subjects: readonly RateLimitSubject[],
  kind: 'requests' | 'tokens',
  now: number,
): number {
  const left = subjects.map(({ subject, limits: { rpm, tpm } }) => {
    const limit = kind === 'requests' ? rpm : tpm
    return limit === null ? Infinity : Math.max(0, limit - reference.used(kind, subject, now))
  })
  return Math.min(...left)
}

function reserveAndCompare(
  limiter: RateLimiter,
  reference: ReferenceLimiter,
  subjects: RateLimitSubject[],
  { id, tokens, now }: ReservationAttempt,
): void {
  const [isOpen, hasSlots] = [reference.fitsWindows(subjects, tokens, now), reference.hasSlots(subjects)]
  const denial = limiter.reserve(id, subjects, tokens, now)
  assert.equal(denial === null, isOpen && hasSlots)
  if (denial === null) reference.reserve(id, subjects, tokens, now)
  else if (denial.retryAfterMs === null) {
    const neverFits = ({ limits: { rpm, tpm, concurrency } }: RateLimitSubject): boolean =>
      rpm === 0 || concurrency === 0 || (tpm !== null && tokens > tpm)
    assert.ok(subjects.some(neverFits), 'a wait is given if waiting helps')
  } else if (!isOpen) {
    // After the wait there is room; a millisecond less is too early, unless the wait is for a slot.
    assert.ok(reference.fitsWindows(subjects, tokens, now + denial.retryAfterMs))
    if (denial.rate !== 'concurrent requests')
      assert.ok(!reference.fitsWindows(subjects, tokens, now + denial.retryAfterMs - 1))
  }
  const status = limiter.status(subjects, now)
  const [requests, left] = [
    minRemaining(reference, subjects, 'requests', now),
    minRemaining(reference, subjects, 'tokens', now),
  ]
  assert.deepEqual(
    [
      status.limitRequests === null ? Infinity : status.remainingRequests,
      status.limitTokens === null ? Infinity : status.remainingTokens,
    ],
    [requests, left],
    'the status is of the tightest window',
  )
}

interface ReservationAttempt {
  readonly id: string
  readonly tokens: number
  readonly now: number
}

function runSequence(steps: readonly number[], all: readonly RateLimits[]): void {
  const [limiter, reference] = [new RateLimiter(), new ReferenceLimiter()]
  const waits = [0, 0, 300, 900, 1000, 20_000, 59_000, 61_000]
  let now = start
  for (const digits of steps) {
    const id = String((digits >> 3) & 7)
    const tokens = (digits >> 9) & 511
    now += waits[(digits >> 6) & 7] ?? 0
    switch (digits & 7) {
      case 0:
        limiter.cancel(id)
        reference.cancel(id)
        break
      case 1:
      case 2:
        limiter.finish(id, tokens, now)
        reference.finish(id, tokens, now)
        break
      case 3:
        limiter.sweep(now)
        break
      default:
        if (!reference.isRunning(id))
          reserveAndCompare(limiter, reference, subjectsFor((digits >> 18) & 7, all), { id, tokens, now })
    }
  }
}

/** Runs random sequences; fails with the shortest one that differs. */
export function assertMatchesReference(sequences: number): void {
  const sequence = fc.array(step, { minLength: 20, maxLength: 40, size: 'max' })
  const all = fc.tuple(limits, limits, limits, limits)
  fc.assert(fc.property(sequence, all, runSequence), { numRuns: sequences })
}
