/** The law of limits: what is admitted, told and promised equals a model that remembers everything and is clever nowhere. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { modelSubject, Rates, type Claim, type RateLimits } from './rate-limiter.ts'
import { windowSeconds } from './sliding-window.ts'

interface Amount {
  readonly second: number
  readonly amount: number
}

interface Reserved {
  readonly claims: readonly Claim[]
  readonly requests: Amount
  readonly tokens: Amount
}

/** Every event with its second, for each subject. */
class Plain {
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

  /** Whether its windows have room; slots are another matter. */
  fitsWindows(claims: readonly Claim[], tokens: number, now: number): boolean {
    return claims.every(({ subject, limits: { rpm, tpm } }) => {
      if (rpm !== null && this.used('requests', subject, now) + 1 > rpm) return false
      return tpm === null || this.used('tokens', subject, now) + tokens <= tpm
    })
  }

  hasSlots(claims: readonly Claim[]): boolean {
    return claims.every(({ subject, limits: { concurrency } }) => {
      let running = 0
      for (const each of this.#running.values())
        if (each.claims.some((claim) => claim.subject === subject)) running += 1
      return concurrency === null || running < concurrency
    })
  }

  reserve(id: string, claims: readonly Claim[], tokens: number, now: number): void {
    const second = Math.floor(now / 1000)
    const reserved = { claims, requests: { second, amount: 1 }, tokens: { second, amount: tokens } }
    this.#running.set(id, reserved)
    for (const { subject } of claims) {
      this.#of('requests', subject).add(reserved.requests)
      this.#of('tokens', subject).add(reserved.tokens)
    }
  }

  giveBack(id: string): void {
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
const maybe = (most: number): fc.Arbitrary<number | null> => fc.option(fc.nat(most), { freq: 3 })
const limits: fc.Arbitrary<RateLimits> = fc.record({ rpm: maybe(6), tpm: maybe(900), concurrency: maybe(4) })
/** What happens, whose it is, how much time passes and how many tokens: digits of one number, so that many are cheap. */
const step = fc.nat(2 ** 30)

/** Of two accounts with two keys and two models each; a limit belongs to a model, its window to the account. */
function claimsFor(who: number, all: readonly RateLimits[]): Claim[] {
  const [account, key, model] = [who & 1, (who >> 1) & 1, (who >> 2) & 1]
  const none: RateLimits = { rpm: null, tpm: null, concurrency: null }
  return [
    { subject: `account:${account}`, limits: all[0] ?? none },
    { subject: `key:${account}${key}`, limits: all[1] ?? none },
    { subject: modelSubject(String(account), String(model)), limits: all[2 + model] ?? none },
  ]
}

function leastLeft(plain: Plain, claims: readonly Claim[], kind: 'requests' | 'tokens', now: number): number {
  const left = claims.map(({ subject, limits: { rpm, tpm } }) => {
    const limit = kind === 'requests' ? rpm : tpm
    return limit === null ? Infinity : Math.max(0, limit - plain.used(kind, subject, now))
  })
  return Math.min(...left)
}

function tryOne(rates: Rates, plain: Plain, claims: Claim[], { id, tokens, now }: Try): void {
  const [isOpen, hasSlots] = [plain.fitsWindows(claims, tokens, now), plain.hasSlots(claims)]
  const denial = rates.reserve(id, claims, tokens, now)
  assert.equal(denial === null, isOpen && hasSlots)
  if (denial === null) plain.reserve(id, claims, tokens, now)
  else if (denial.retryAfterMs === null) {
    const tooMuch = ({ limits: { rpm, tpm, concurrency } }: Claim): boolean =>
      rpm === 0 || concurrency === 0 || (tpm !== null && tokens > tpm)
    assert.ok(claims.some(tooMuch), 'who may wait is told for how long')
  } else if (!isOpen) {
    // Whoever waits so long finds room; a millisecond less is too early, unless it is a slot that is waited for.
    assert.ok(plain.fitsWindows(claims, tokens, now + denial.retryAfterMs))
    if (denial.rate !== 'concurrent requests')
      assert.ok(!plain.fitsWindows(claims, tokens, now + denial.retryAfterMs - 1))
  }
  const status = rates.status(claims, now)
  const [requests, left] = [
    leastLeft(plain, claims, 'requests', now),
    leastLeft(plain, claims, 'tokens', now),
  ]
  assert.deepEqual(
    [
      status.limitRequests === null ? Infinity : status.remainingRequests,
      status.limitTokens === null ? Infinity : status.remainingTokens,
    ],
    [requests, left],
    'the tightest window is told',
  )
}

interface Try {
  readonly id: string
  readonly tokens: number
  readonly now: number
}

function follow(steps: readonly number[], all: readonly RateLimits[]): void {
  const [rates, plain] = [new Rates(), new Plain()]
  const waits = [0, 0, 300, 900, 1000, 20_000, 59_000, 61_000]
  let now = start
  for (const digits of steps) {
    const id = String((digits >> 3) & 7)
    const tokens = (digits >> 9) & 511
    now += waits[(digits >> 6) & 7] ?? 0
    switch (digits & 7) {
      case 0:
        rates.giveBack(id)
        plain.giveBack(id)
        break
      case 1:
      case 2:
        rates.finish(id, tokens, now)
        plain.finish(id, tokens, now)
        break
      case 3:
        rates.sweep(now)
        break
      default:
        if (!plain.isRunning(id))
          tryOne(rates, plain, claimsFor((digits >> 18) & 7, all), { id, tokens, now })
    }
  }
}

/** Plays so many random sequences; fails with the shortest that breaks the law. */
export function holdTheLaw(sequences: number): void {
  const sequence = fc.array(step, { minLength: 20, maxLength: 40, size: 'max' })
  const all = fc.tuple(limits, limits, limits, limits)
  fc.assert(fc.property(sequence, all, follow), { numRuns: sequences })
}
