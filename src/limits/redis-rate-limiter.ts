/**
 * The rate limiter of a cluster, which counts in Redis. While Redis is unavailable, each node admits its share. When
 * Redis is back its windows may be empty, so nodes keep to their shares for a minute and count what they admit in Redis
 * too.
 */
import { RedisSlidingWindows, type Reservation } from '../shared/redis-sliding-windows.ts'
import type { LocalRateLimiter, ClusterRateLimiter, RateLimitResult } from './local-rate-limiter.ts'
import {
  denialFrom,
  longerWait,
  type RateLimitSubject,
  type RateDenial,
  type RateStatus,
} from './rate-limiter.ts'
import { statusFrom, windowLimitsOf } from './window-usage.ts'
import { windowSeconds } from './sliding-window.ts'
import { errorMessage } from '../lib/error-message.ts'

/** How often a lease is renewed before it expires. */
const renewalsPerLease = 3

/**
 * The correction at the end of a request: `requests` and `tokens` of its start, and a `surplus` that counts from now
 * on.
 */
interface Correction {
  readonly requests: number
  readonly tokens: number
  readonly surplus: number
}

const noCorrection: Correction = { requests: 0, tokens: 0, surplus: 0 }

/** The reservation of a running request. */
interface ActiveReservation {
  readonly id: string
  readonly group: string
  readonly subjects: readonly string[]
  tokens: number
  /** When Redis counted it; `null`: not yet. */
  at: number | null
  /** Redis is still counting it: its end is sent afterwards. */
  isPending: boolean
  correction: Correction | null
}

interface AvailabilityCallbacks {
  /** Called once when Redis becomes unavailable or fails, and once when it counts again. */
  readonly onUnavailable?: (why: string) => void
  readonly onAvailable?: () => void
}

export interface RedisRateLimiterOptions extends AvailabilityCallbacks {
  readonly url: string
  /** After this time the slot of a node that is gone is free. */
  readonly leaseMs: number
  readonly local: LocalRateLimiter
  readonly monotonicNow: () => number
  readonly aheadMs?: () => number
}

function newReservation(id: string, subjectNames: readonly string[], tokens: number): ActiveReservation {
  return {
    id,
    group: subjectNames[0] ?? '',
    subjects: subjectNames,
    tokens,
    at: null,
    isPending: false,
    correction: null,
  }
}

function namesOf(subjects: readonly RateLimitSubject[]): string[] {
  return subjects.map(({ subject }) => subject)
}

export class RedisRateLimiter implements ClusterRateLimiter {
  readonly #windows: RedisSlidingWindows
  readonly #local: LocalRateLimiter
  readonly #monotonicNow: () => number
  readonly #active = new Map<string, ActiveReservation>()
  /** Sent to Redis as soon as it is available. */
  #releasedWhileAway: ActiveReservation[] = []
  readonly #renewalTimer: NodeJS.Timeout
  #isReady = false
  #wasReady = false
  #isReportedUnavailable = false
  readonly #callbacks: AvailabilityCallbacks
  /** From this time on, Redis has counted a full window. */
  #sharedFrom = Infinity

  constructor({ url, leaseMs, local, monotonicNow, aheadMs, ...callbacks }: RedisRateLimiterOptions) {
    this.#callbacks = callbacks
    this.#local = local
    this.#monotonicNow = monotonicNow
    this.#windows = new RedisSlidingWindows({
      url,
      leaseMs,
      aheadMs,
      onReady: () => this.#onRedisReady(),
      onUnavailable: (why) => this.#onRedisUnavailable(why),
    })
    this.#renewalTimer = setInterval(() => this.#renew(), leaseMs / renewalsPerLease)
    this.#renewalTimer.unref()
  }

  get isShared(): boolean {
    return this.#isReady && this.#monotonicNow() >= this.#sharedFrom
  }

  /** If Redis was available from the start, nothing was admitted without it, and its windows are complete. */
  #onRedisReady(): void {
    this.#sharedFrom =
      this.#wasReady || this.#local.hasAdmitted ? this.#monotonicNow() + windowSeconds * 1000 : 0
    this.#isReady = true
    this.#wasReady = true
    for (const reservation of this.#releasedWhileAway.splice(0)) this.#sendEnd(reservation, noCorrection)
    // Redis may have lost them.
    this.#renew()
  }

  #onRedisUnavailable(why: string): void {
    if (!this.#isReportedUnavailable) this.#callbacks.onUnavailable?.(why)
    this.#isReportedUnavailable = true
    this.#isReady = false
    this.#sharedFrom = Infinity
  }

  reserve(
    id: string,
    subjects: readonly RateLimitSubject[],
    tokens: number,
  ): RateLimitResult | Promise<RateLimitResult> {
    const isLimited = subjects.some(
      ({ limits }) => limits.rpm !== null || limits.tpm !== null || limits.concurrency !== null,
    )
    // Without limits there is nothing to count.
    if (!isLimited) return { denial: null, status: statusFrom(subjects, []) }
    return this.isShared
      ? this.#reserveInRedis(id, subjects, tokens)
      : this.#reserveLocally(id, subjects, tokens)
  }

  async #reserveInRedis(
    id: string,
    subjects: readonly RateLimitSubject[],
    tokens: number,
  ): Promise<RateLimitResult> {
    try {
      const group = subjects[0]?.subject ?? ''
      const reservation = await this.#windows.reserve({ id, group, tokens }, subjects.map(windowLimitsOf))
      if (this.#isReportedUnavailable) this.#callbacks.onAvailable?.()
      this.#isReportedUnavailable = false
      return this.#toResult(id, subjects, tokens, reservation)
    } catch (error) {
      // Many requests may fail at once: only the first one changes the state.
      if (this.isShared) {
        this.#onRedisUnavailable(errorMessage(error))
        this.#onRedisReady()
      }
      // Redis may still count the request later: release its slot then.
      this.#sendEnd(newReservation(id, namesOf(subjects), 0), noCorrection)
      return this.#reserveLocally(id, subjects, tokens)
    }
  }

  #toResult(
    id: string,
    subjects: readonly RateLimitSubject[],
    tokens: number,
    { isAdmitted, now, uses: usages }: Reservation,
  ): RateLimitResult {
    const status = statusFrom(subjects, usages)
    if (!isAdmitted) {
      let denial: RateDenial | null = null
      for (const [index, subject] of subjects.entries()) {
        const usage = usages[index]
        if (usage) denial = longerWait(denial, denialFrom(subject, usage, now))
      }
      return { denial, status }
    }
    const subjectNames = namesOf(subjects)
    const reservation = newReservation(id, subjectNames, tokens)
    reservation.at = now
    this.#active.set(id, reservation)
    // If Redis becomes unavailable, what this node has admitted counts in its share.
    this.#local.record(subjectNames, tokens)
    return { denial: null, status }
  }

  #reserveLocally(id: string, subjects: readonly RateLimitSubject[], tokens: number): RateLimitResult {
    const reserved = this.#local.reserve(id, subjects, tokens)
    if (reserved.denial) return reserved
    const subjectNames = namesOf(subjects)
    const reservation = newReservation(id, subjectNames, tokens)
    this.#active.set(id, reservation)
    if (this.#isReady) void this.#countInRedis(reservation, subjects)
    return reserved
  }

  /** Counts in Redis what this node admitted by itself. */
  async #countInRedis(reservation: ActiveReservation, subjects: readonly RateLimitSubject[]): Promise<void> {
    reservation.isPending = true
    try {
      const { now } = await this.#windows.reserve(
        { ...reservation, isForced: true },
        subjects.map(windowLimitsOf),
      )
      reservation.at = now
    } catch {
      // Redis is unavailable again or slow: the next renewal records the slot.
    }
    reservation.isPending = false
    if (reservation.correction) this.#sendEnd(reservation, reservation.correction)
  }

  status(subjects: readonly RateLimitSubject[]): RateStatus | null {
    return this.isShared ? null : this.#local.status(subjects)
  }

  raise(id: string, tokens: number): void {
    this.#local.raise(id, tokens)
    const reservation = this.#active.get(id)
    if (!reservation || reservation.tokens >= tokens) return
    const { at } = reservation
    // What Redis does not count now is corrected when the request ends.
    if (at === null) return
    this.#windows.raise({ ...reservation, at }, tokens - reservation.tokens).catch(() => undefined)
    reservation.tokens = tokens
  }

  cancel(id: string): void {
    this.#local.cancel(id)
    const reservation = this.#active.get(id)
    if (reservation)
      this.#endReservation(reservation, { requests: -1, tokens: -reservation.tokens, surplus: 0 })
  }

  finish(id: string, tokens: number | null): void {
    this.#local.finish(id, tokens)
    const reservation = this.#active.get(id)
    if (!reservation) return
    const difference = tokens === null ? 0 : tokens - reservation.tokens
    this.#endReservation(reservation, {
      requests: 0,
      tokens: Math.min(0, difference),
      surplus: Math.max(0, difference),
    })
  }

  release(id: string, subjectNames: readonly string[]): void {
    const reservation = newReservation(id, subjectNames, 0)
    if (this.#isReady) this.#sendEnd(reservation, noCorrection)
    else this.#releasedWhileAway.push(reservation)
  }

  #endReservation(reservation: ActiveReservation, correction: Correction): void {
    this.#active.delete(reservation.id)
    if (reservation.isPending) reservation.correction = correction
    else this.#sendEnd(reservation, correction)
  }

  #sendEnd(reservation: ActiveReservation, correction: Correction): void {
    const { at } = reservation
    const sent =
      at === null
        ? this.#windows.end({ ...reservation, at: 0 }, noCorrection)
        : this.#windows.end({ ...reservation, at }, correction)
    // If this fails, the slot is free when its lease expires.
    sent.catch(() => undefined)
  }

  #renew(): void {
    if (!this.#isReady) return
    for (const reservation of this.#active.values()) this.#windows.renew(reservation).catch(() => undefined)
  }

  async close(): Promise<void> {
    clearInterval(this.#renewalTimer)
    // Closing the connection ourselves is not an outage.
    this.#isReportedUnavailable = true
    await Promise.all([this.#windows.close(), this.#local.close()])
  }
}
