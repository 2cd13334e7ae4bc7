/**
 * Rate limiter: requests per minute, tokens per minute and concurrent requests, of the account, of the key, and of the
 * account for the model. A request takes all of its limits or none. It reserves them under its id; the actual usage
 * corrects the reservation, and a request that the ledger rejects cancels it.
 */
import type { WindowUsage } from '../shared/redis-sliding-windows.ts'
import { SlidingWindow, windowSeconds } from './sliding-window.ts'

/** `null`: unlimited. */
export interface RateLimits {
  readonly rpm: number | null
  readonly tpm: number | null
  readonly concurrency: number | null
}

export const accountSubject = (accountId: string): string => `account:${accountId}`
export const keySubject = (keyId: string): string => `key:${keyId}`
/** Replays of stored responses to requests with a key. They count in no other window. */
export const replaySubject = (keyId: string): string => `replay:${keyId}`
/** Token counts of an account or a key. They count in no other window. */
export const tokenCountSubject = (subject: string): string => `count-${subject}`
/** An account's use of a model. The model has the limits, and each account has its own windows. */
export const modelSubject = (accountId: string, model: string): string => `model:${accountId}:${model}`

/** All subjects that a request may count for, the account first. */
export function subjectsOf(request: { account: string; key: string; model: string }): string[] {
  const { account, key, model } = request
  return [accountSubject(account), keySubject(key), modelSubject(account, model)]
}

/** A subject (`account:…`, `key:…`, `replay:…`, `count-key:…`, `model:…`) and its limits. */
export interface RateLimitSubject {
  readonly subject: string
  readonly limits: RateLimits
}

export type RateLimitName = 'requests per minute' | 'tokens per minute' | 'concurrent requests'

export interface RateDenial {
  readonly subject: string
  readonly rate: RateLimitName
  readonly limit: number
  /** After this time the request is admitted; `null`: never, since it exceeds the limit by itself. */
  readonly retryAfterMs: number | null
}

/**
 * The values of `x-ratelimit-*`, of the subject with the least remaining. Resets: milliseconds until the limit is fully
 * available.
 */
export interface RateStatus {
  readonly limitRequests: number | null
  readonly remainingRequests: number
  readonly resetRequestsMs: number
  readonly limitTokens: number | null
  readonly remainingTokens: number
  readonly resetTokensMs: number
}

interface SubjectState {
  readonly requests: SlidingWindow
  readonly tokens: SlidingWindow
  running: number
  lastSecond: number
}

interface Reservation {
  readonly subjects: readonly SubjectState[]
  readonly second: number
  tokens: number
}

const secondMs = 1000
/** The retry delay if only the concurrency limit is reached. */
export const slotRetryMs = 1000

export class RateLimiter {
  readonly #subjects = new Map<string, SubjectState>()
  readonly #reservations = new Map<string, Reservation>()

  #subject(name: string, second: number): SubjectState {
    let subject = this.#subjects.get(name)
    if (!subject) {
      subject = { requests: new SlidingWindow(), tokens: new SlidingWindow(), running: 0, lastSecond: second }
      this.#subjects.set(name, subject)
    }
    subject.lastSecond = second
    return subject
  }

  /**
   * Reserves a request and its estimated tokens, or returns the limit that denies it; of several, the one with the
   * longest wait. `now`: milliseconds of a monotonic clock. A request that already has a reservation keeps it.
   */
  reserve(id: string, subjects: readonly RateLimitSubject[], tokens: number, now: number): RateDenial | null {
    if (this.#reservations.has(id)) return null
    const second = Math.floor(now / secondMs)
    let denial: RateDenial | null = null
    for (const subject of subjects) denial = longerWait(denial, this.#denialFor(subject, tokens, now))
    if (denial) return denial
    const states = subjects.map(({ subject }) => this.#subject(subject, second))
    for (const state of states) {
      state.requests.add(second, 1)
      state.tokens.add(second, tokens)
      state.running += 1
    }
    this.#reservations.set(id, { subjects: states, second, tokens })
    return null
  }

  #denialFor({ subject: name, limits }: RateLimitSubject, tokens: number, now: number): RateDenial | null {
    const { rpm, tpm, concurrency } = limits
    const second = Math.floor(now / secondMs)
    const subject = this.#subject(name, second)
    const isFull = concurrency !== null && subject.running >= concurrency
    const requestsWait = rpm === null ? 0 : subject.requests.secondsUntilFits(second, 1, rpm)
    const tokensWait = tpm === null ? 0 : subject.tokens.secondsUntilFits(second, tokens, tpm)
    if (!isFull && requestsWait === 0 && tokensWait === 0) return null
    return denialFrom({ subject: name, limits }, { running: subject.running, requestsWait, tokensWait }, now)
  }

  /** Reserves this many tokens for a request that was admitted with fewer, even if they do not fit. */
  raise(id: string, tokens: number): void {
    const reservation = this.#reservations.get(id)
    if (!reservation || reservation.tokens >= tokens) return
    for (const subject of reservation.subjects)
      subject.tokens.add(reservation.second, tokens - reservation.tokens)
    reservation.tokens = tokens
  }

  /** Cancels the reservation of a request that the ledger rejected. */
  cancel(id: string): void {
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
   * Ends a request: frees its slot and corrects its tokens. Fewer tokens than reserved correct the second in which it
   * started; more count from now on, so that the surplus of a long response does not expire with its start. `tokens`
   * null: as reserved.
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

  /** Counts a request from before a restart. */
  restore(subjects: readonly string[], at: number, tokens: number): void {
    const second = Math.floor(at / secondMs)
    for (const name of subjects) {
      const subject = this.#subject(name, second)
      subject.requests.add(second, 1)
      subject.tokens.add(second, tokens)
    }
  }

  /** The remaining limits, of the subject with the least. */
  status(subjects: readonly RateLimitSubject[], now: number): RateStatus {
    const second = Math.floor(now / secondMs)
    let [limitRequests, remainingRequests, resetRequestsMs]: [number | null, number, number] = [null, 0, 0]
    let [limitTokens, remainingTokens, resetTokensMs]: [number | null, number, number] = [null, 0, 0]
    for (const { subject: name, limits } of subjects) {
      if (limits.rpm === null && limits.tpm === null) continue
      const subject = this.#subject(name, second)
      if (limits.rpm !== null) {
        const left = Math.max(0, limits.rpm - subject.requests.used(second))
        if (limitRequests === null || left < remainingRequests) {
          limitRequests = limits.rpm
          remainingRequests = left
          resetRequestsMs = subject.requests.secondsUntilFits(second, limits.rpm, limits.rpm) * secondMs
        }
      }
      if (limits.tpm !== null) {
        const left = Math.max(0, limits.tpm - subject.tokens.used(second))
        if (limitTokens === null || left < remainingTokens) {
          limitTokens = limits.tpm
          remainingTokens = left
          resetTokensMs = subject.tokens.secondsUntilFits(second, limits.tpm, limits.tpm) * secondMs
        }
      }
    }
    return { limitRequests, remainingRequests, resetRequestsMs, limitTokens, remainingTokens, resetTokensMs }
  }

  /** Removes subjects that have been idle for longer than the window. */
  sweep(now: number): void {
    const second = Math.floor(now / secondMs)
    for (const [name, subject] of this.#subjects) {
      if (subject.running === 0 && second - subject.lastSecond > windowSeconds) this.#subjects.delete(name)
    }
  }

  /** The number of subjects. */
  get size(): number {
    return this.#subjects.size
  }
}

/** The denial with the longer wait; one for which waiting does not help is the longest. */
export function longerWait(one: RateDenial | null, other: RateDenial | null): RateDenial | null {
  if (one === null || other === null) return one ?? other
  return (other.retryAfterMs ?? Infinity) > (one.retryAfterMs ?? Infinity) ? other : one
}

/** The limit of a subject that denies a request; of several, the one with the longest wait. */
export function denialFrom(
  { subject, limits: { rpm, tpm, concurrency } }: RateLimitSubject,
  { running, requestsWait, tokensWait }: Pick<WindowUsage, 'running' | 'requestsWait' | 'tokensWait'>,
  now: number,
): RateDenial | null {
  const inMs = (seconds: number): number | null =>
    seconds === Infinity ? null : (Math.floor(now / secondMs) + seconds) * secondMs - now
  let denial: RateDenial | null = null
  const deny = (rate: RateLimitName, limit: number, retryAfterMs: number | null): void => {
    denial = longerWait(denial, { subject, rate, limit, retryAfterMs })
  }
  if (concurrency !== null && running >= concurrency)
    deny('concurrent requests', concurrency, concurrency === 0 ? null : slotRetryMs)
  if (rpm !== null && requestsWait > 0) deny('requests per minute', rpm, inMs(requestsWait))
  if (tpm !== null && tokensWait > 0) deny('tokens per minute', tpm, inMs(tokensWait))
  return denial
}
