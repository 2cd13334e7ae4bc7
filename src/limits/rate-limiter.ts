/**
 * May this call start now? Requests and tokens per minute and concurrency, of the account, of the key and of the
 * account for the model, checked all or nothing: refused by one window, a call has consumed no other. A rate is reserved under the request's id; the
 * real usage corrects it, and a call that the ledger refuses gives it back.
 */
import { SlidingWindow, windowSeconds } from './sliding-window.ts'

/** `null`: unlimited. */
export interface RateLimits {
  readonly rpm: number | null
  readonly tpm: number | null
  readonly concurrency: number | null
}

export const accountSubject = (accountId: string): string => `account:${accountId}`
export const keySubject = (keyId: string): string => `key:${keyId}`
/** An account's use of one model: its limits are the model's, for each account. */
export const modelSubject = (accountId: string, model: string): string => `model:${accountId}:${model}`

/** All that a request may count for, the account first. */
export function subjectsOf(request: { account: string; key: string; model: string }): string[] {
  const { account, key, model } = request
  return [accountSubject(account), keySubject(key), modelSubject(account, model)]
}

/** Who is limited (`account:…`, `key:…`, `model:…`) and by what. */
export interface Claim {
  readonly subject: string
  readonly limits: RateLimits
}

export type RateName = 'requests per minute' | 'tokens per minute' | 'concurrent requests'

export interface RateDenial {
  readonly subject: string
  readonly rate: RateName
  readonly limit: number
  /** After this long the same call is admitted; `null`: never, it is larger than the limit. */
  readonly retryAfterMs: number | null
}

/** What `x-ratelimit-*` tells: of the subject with the least left. Resets are milliseconds until all is free again. */
export interface RateStatus {
  readonly limitRequests: number | null
  readonly remainingRequests: number
  readonly resetRequestsMs: number
  readonly limitTokens: number | null
  readonly remainingTokens: number
  readonly resetTokensMs: number
}

interface Subject {
  readonly requests: SlidingWindow
  readonly tokens: SlidingWindow
  running: number
  lastSecond: number
}

interface Reservation {
  readonly subjects: readonly Subject[]
  readonly second: number
  readonly tokens: number
}

const secondMs = 1000
/** How long a slot is expected to take to come free, told where only concurrency is in the way. */
const slotWaitMs = 1000

export class Rates {
  readonly #subjects = new Map<string, Subject>()
  readonly #reservations = new Map<string, Reservation>()

  #subject(name: string, second: number): Subject {
    let subject = this.#subjects.get(name)
    if (!subject) {
      subject = { requests: new SlidingWindow(), tokens: new SlidingWindow(), running: 0, lastSecond: second }
      this.#subjects.set(name, subject)
    }
    subject.lastSecond = second
    return subject
  }

  /**
   * Reserves a request and its estimated tokens, or says what is in the way: of several, what is in the way longest.
   * `now`: milliseconds of a clock that never goes back. A request that has its reservation keeps it.
   */
  reserve(id: string, claims: readonly Claim[], tokens: number, now: number): RateDenial | null {
    if (this.#reservations.has(id)) return null
    const second = Math.floor(now / secondMs)
    let denial: RateDenial | null = null
    for (const claim of claims) denial = longer(denial, this.#denialOf(claim, tokens, now))
    if (denial) return denial
    const subjects = claims.map((claim) => this.#subject(claim.subject, second))
    for (const subject of subjects) {
      subject.requests.add(second, 1)
      subject.tokens.add(second, tokens)
      subject.running += 1
    }
    this.#reservations.set(id, { subjects, second, tokens })
    return null
  }

  #denialOf({ subject: name, limits }: Claim, tokens: number, now: number): RateDenial | null {
    const { rpm, tpm, concurrency } = limits
    const second = Math.floor(now / secondMs)
    const subject = this.#subject(name, second)
    const isFull = concurrency !== null && subject.running >= concurrency
    const requestsWait = rpm === null ? 0 : subject.requests.secondsUntil(second, 1, rpm)
    const tokensWait = tpm === null ? 0 : subject.tokens.secondsUntil(second, tokens, tpm)
    if (!isFull && requestsWait === 0 && tokensWait === 0) return null
    const inMs = (seconds: number): number | null =>
      seconds === Infinity ? null : (second + seconds) * secondMs - now
    let denial: RateDenial | null = null
    if (concurrency !== null && isFull) {
      const retryAfterMs = concurrency === 0 ? null : slotWaitMs
      denial = { subject: name, rate: 'concurrent requests', limit: concurrency, retryAfterMs }
    }
    if (rpm !== null && requestsWait > 0) {
      const retryAfterMs = inMs(requestsWait)
      denial = longer(denial, { subject: name, rate: 'requests per minute', limit: rpm, retryAfterMs })
    }
    if (tpm !== null && tokensWait > 0) {
      const retryAfterMs = inMs(tokensWait)
      denial = longer(denial, { subject: name, rate: 'tokens per minute', limit: tpm, retryAfterMs })
    }
    return denial
  }

  /** The ledger refused: nothing was consumed. */
  giveBack(id: string): void {
    const reservation = this.#reservations.get(id)
    if (!reservation) return
    this.#reservations.delete(id)
    for (const subject of reservation.subjects) {
      subject.requests.add(reservation.second, -1)
      subject.tokens.add(reservation.second, -reservation.tokens)
      subject.running -= 1
    }
  }

  /**
   * The request ended: its slot is free, and its tokens count as they were: fewer than reserved from when it began,
   * more from now on, so that the surplus of a long answer is not forgotten with its beginning. `tokens` null: as
   * reserved.
   */
  finish(id: string, tokens: number | null, now: number): void {
    const reservation = this.#reservations.get(id)
    if (!reservation) return
    this.#reservations.delete(id)
    const second = Math.floor(now / secondMs)
    const surplus = tokens === null ? 0 : tokens - reservation.tokens
    for (const subject of reservation.subjects) {
      if (surplus < 0) subject.tokens.add(reservation.second, surplus)
      if (surplus > 0) {
        subject.tokens.add(second, surplus)
        subject.lastSecond = Math.max(subject.lastSecond, second)
      }
      subject.running -= 1
    }
  }

  /** Counts a request of before a restart. */
  remember(subjects: readonly string[], at: number, tokens: number): void {
    const second = Math.floor(at / secondMs)
    for (const name of subjects) {
      const subject = this.#subject(name, second)
      subject.requests.add(second, 1)
      subject.tokens.add(second, tokens)
    }
  }

  /** What is left, of whichever subject has the least. */
  status(claims: readonly Claim[], now: number): RateStatus {
    const second = Math.floor(now / secondMs)
    let [limitRequests, remainingRequests, resetRequestsMs]: [number | null, number, number] = [null, 0, 0]
    let [limitTokens, remainingTokens, resetTokensMs]: [number | null, number, number] = [null, 0, 0]
    for (const { subject: name, limits } of claims) {
      if (limits.rpm === null && limits.tpm === null) continue
      const subject = this.#subject(name, second)
      if (limits.rpm !== null) {
        const left = Math.max(0, limits.rpm - subject.requests.used(second))
        if (limitRequests === null || left < remainingRequests) {
          limitRequests = limits.rpm
          remainingRequests = left
          resetRequestsMs = subject.requests.secondsUntil(second, limits.rpm, limits.rpm) * secondMs
        }
      }
      if (limits.tpm !== null) {
        const left = Math.max(0, limits.tpm - subject.tokens.used(second))
        if (limitTokens === null || left < remainingTokens) {
          limitTokens = limits.tpm
          remainingTokens = left
          resetTokensMs = subject.tokens.secondsUntil(second, limits.tpm, limits.tpm) * secondMs
        }
      }
    }
    return { limitRequests, remainingRequests, resetRequestsMs, limitTokens, remainingTokens, resetTokensMs }
  }

  /** Forgets subjects that have been quiet for longer than the window. */
  sweep(now: number): void {
    const second = Math.floor(now / secondMs)
    for (const [name, subject] of this.#subjects) {
      if (subject.running === 0 && second - subject.lastSecond > windowSeconds) this.#subjects.delete(name)
    }
  }

  /** Who is remembered. */
  get size(): number {
    return this.#subjects.size
  }
}

/** Of two denials the one that stands longer; without end, when waiting does not help. */
export function longer(one: RateDenial | null, other: RateDenial | null): RateDenial | null {
  if (one === null || other === null) return one ?? other
  return (other.retryAfterMs ?? Infinity) > (one.retryAfterMs ?? Infinity) ? other : one
}
