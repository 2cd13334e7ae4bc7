/**
 * Rates as all nodes of a cluster count them, in Redis. While it is away each node admits its share by itself; when it
 * is back the windows there may be empty, so shares go on for a minute, in which everything admitted is counted there too.
 */
import {
  RedisWindows,
  type Reservation,
  type WindowClaim,
  type WindowUse,
} from '../shared/redis-sliding-windows.ts'
import type { AloneRates, NodeRates, Reserved } from './node-rates.ts'
import { longer, type Claim, type RateDenial, type RateStatus } from './rate-limiter.ts'
import { windowSeconds } from './sliding-window.ts'
import { errorWords } from '../lib/error-message.ts'

/** Leases are made longer so often within one. */
const renewalsPerLease = 3
/** How long a slot is expected to take to come free, told where only concurrency is in the way. */
const slotWaitMs = 1000

/** How a request has ended: what is to be added to the second it was counted in, and to the one that runs. */
interface Ending {
  readonly requests: number
  readonly tokens: number
  readonly surplus: number
}

const freed: Ending = { requests: 0, tokens: 0, surplus: 0 }

/** A request that runs. */
interface Made {
  readonly id: string
  readonly group: string
  readonly subjects: readonly string[]
  readonly tokens: number
  /** When Redis has counted it; `null`: it has not. */
  at: number | null
  /** Redis was asked to count it, and has not answered yet: its end is told afterwards. */
  isAsked: boolean
  ending: Ending | null
}

export interface RedisRatesOptions {
  readonly url: string
  /** A slot of a node that is gone is free after so long. */
  readonly leaseMs: number
  readonly alone: AloneRates
  readonly steady: () => number
  readonly aheadMs?: () => number
  /** Once when it cannot be had or does not do what it is asked, and once when it has counted again. */
  readonly away?: (why: string) => void
  readonly back?: () => void
}

function madeOf(id: string, subjects: readonly string[], tokens: number): Made {
  return { id, group: subjects[0] ?? '', subjects, tokens, at: null, isAsked: false, ending: null }
}

function windowClaimOf({ subject, limits }: Claim): WindowClaim {
  return { subject, requests: limits.rpm, tokens: limits.tpm, slots: limits.concurrency }
}

function denialOf({ subject, limits }: Claim, use: WindowUse, now: number): RateDenial | null {
  const inMs = (seconds: number): number | null =>
    seconds < 0 ? null : (Math.floor(now / 1000) + seconds) * 1000 - now
  const { rpm, tpm, concurrency } = limits
  let denial: RateDenial | null = null
  if (concurrency !== null && use.running >= concurrency) {
    const retryAfterMs = concurrency === 0 ? null : slotWaitMs
    denial = { subject, rate: 'concurrent requests', limit: concurrency, retryAfterMs }
  }
  if (rpm !== null && use.requestsWait !== 0) {
    const retryAfterMs = inMs(use.requestsWait)
    denial = longer(denial, { subject, rate: 'requests per minute', limit: rpm, retryAfterMs })
  }
  if (tpm !== null && use.tokensWait !== 0) {
    const retryAfterMs = inMs(use.tokensWait)
    denial = longer(denial, { subject, rate: 'tokens per minute', limit: tpm, retryAfterMs })
  }
  return denial
}

/** Of the subjects the one with the least left. */
function statusOf(claims: readonly Claim[], uses: readonly WindowUse[]): RateStatus {
  const status = {
    limitRequests: null as number | null,
    remainingRequests: 0,
    resetRequestsMs: 0,
    limitTokens: null as number | null,
    remainingTokens: 0,
    resetTokensMs: 0,
  }
  for (const [index, { limits }] of claims.entries()) {
    const use = uses[index]
    if (!use) continue
    const requests = Math.max(0, (limits.rpm ?? 0) - use.requests)
    if (limits.rpm !== null && (status.limitRequests === null || requests < status.remainingRequests)) {
      status.limitRequests = limits.rpm
      status.remainingRequests = requests
      status.resetRequestsMs = use.requestsFree * 1000
    }
    const tokens = Math.max(0, (limits.tpm ?? 0) - use.tokens)
    if (limits.tpm !== null && (status.limitTokens === null || tokens < status.remainingTokens)) {
      status.limitTokens = limits.tpm
      status.remainingTokens = tokens
      status.resetTokensMs = use.tokensFree * 1000
    }
  }
  return status
}

export class RedisRates implements NodeRates {
  readonly #windows: RedisWindows
  readonly #alone: AloneRates
  readonly #steady: () => number
  readonly #made = new Map<string, Made>()
  /** To be told as soon as Redis is there. */
  #freed: Made[] = []
  readonly #renewing: NodeJS.Timeout
  #isReady = false
  #wasReady = false
  #isToldAway = false
  readonly #tell: Pick<RedisRatesOptions, 'away' | 'back'>
  /** From then on Redis has seen a whole window. */
  #sharedFrom = Infinity

  constructor({ url, leaseMs, alone, steady, aheadMs, ...tell }: RedisRatesOptions) {
    this.#tell = tell
    this.#alone = alone
    this.#steady = steady
    this.#windows = new RedisWindows({
      url,
      leaseMs,
      aheadMs,
      onReady: () => this.#come(),
      onAway: (why) => this.#go(why),
    })
    this.#renewing = setInterval(() => this.#renew(), leaseMs / renewalsPerLease)
    this.#renewing.unref()
  }

  get isShared(): boolean {
    return this.#isReady && this.#steady() >= this.#sharedFrom
  }

  /** Nothing was admitted without it where it was there from the beginning. */
  #come(): void {
    this.#sharedFrom = this.#wasReady || this.#alone.hasAdmitted ? this.#steady() + windowSeconds * 1000 : 0
    this.#isReady = true
    this.#wasReady = true
    for (const made of this.#freed.splice(0)) this.#tellEnd(made, freed)
    // It may have forgotten them.
    this.#renew()
  }

  #go(why: string): void {
    if (!this.#isToldAway) this.#tell.away?.(why)
    this.#isToldAway = true
    this.#isReady = false
    this.#sharedFrom = Infinity
  }

  async reserve(id: string, claims: readonly Claim[], tokens: number): Promise<Reserved> {
    const isLimited = claims.some(
      ({ limits }) => limits.rpm !== null || limits.tpm !== null || limits.concurrency !== null,
    )
    // Nothing to count, nothing to ask: of those without limits.
    if (!isLimited) return { denial: null, status: statusOf(claims, []) }
    if (!this.isShared) return this.#reserveAlone(id, claims, tokens)
    try {
      const group = claims[0]?.subject ?? ''
      const reservation = await this.#windows.reserve({ id, group, tokens }, claims.map(windowClaimOf))
      if (this.#isToldAway) this.#tell.back?.()
      this.#isToldAway = false
      return this.#reserved(id, claims, tokens, reservation)
    } catch (error) {
      // Of many that wait for the same answer only the first has to find it out.
      if (this.isShared) {
        this.#go(errorWords(error))
        this.#come()
      }
      // It may be counted there after all, once Redis comes to it: then its slot is not to stay taken.
      const subjects = claims.map(({ subject }) => subject)
      this.#tellEnd(madeOf(id, subjects, 0), freed)
      return this.#reserveAlone(id, claims, tokens)
    }
  }

  #reserved(
    id: string,
    claims: readonly Claim[],
    tokens: number,
    { isAdmitted, now, uses }: Reservation,
  ): Reserved {
    const status = statusOf(claims, uses)
    if (!isAdmitted) {
      let denial: RateDenial | null = null
      for (const [index, claim] of claims.entries()) {
        const use = uses[index]
        if (use) denial = longer(denial, denialOf(claim, use, now))
      }
      return { denial, status }
    }
    const subjects = claims.map(({ subject }) => subject)
    const made = madeOf(id, subjects, tokens)
    made.at = now
    this.#made.set(id, made)
    // What this node has admitted counts in its share should Redis go away.
    this.#alone.remember(subjects, tokens)
    return { denial: null, status }
  }

  #reserveAlone(id: string, claims: readonly Claim[], tokens: number): Reserved {
    const reserved = this.#alone.reserve(id, claims, tokens)
    if (reserved.denial) return reserved
    const subjects = claims.map(({ subject }) => subject)
    const made = madeOf(id, subjects, tokens)
    this.#made.set(id, made)
    if (this.#isReady) void this.#count(made, claims)
    return reserved
  }

  /** Counts in Redis what was admitted without asking it. */
  async #count(made: Made, claims: readonly Claim[]): Promise<void> {
    made.isAsked = true
    try {
      const { now } = await this.#windows.reserve({ ...made, isForced: true }, claims.map(windowClaimOf))
      made.at = now
    } catch {
      // It is away again, or slow: then its slot is noted with the next renewal.
    }
    made.isAsked = false
    if (made.ending) this.#tellEnd(made, made.ending)
  }

  giveBack(id: string): void {
    this.#alone.giveBack(id)
    const made = this.#made.get(id)
    if (made) this.#end(made, { requests: -1, tokens: -made.tokens, surplus: 0 })
  }

  finish(id: string, tokens: number | null): void {
    this.#alone.finish(id, tokens)
    const made = this.#made.get(id)
    if (!made) return
    const more = tokens === null ? 0 : tokens - made.tokens
    this.#end(made, { requests: 0, tokens: Math.min(0, more), surplus: Math.max(0, more) })
  }

  free(id: string, subjects: readonly string[]): void {
    const made = madeOf(id, subjects, 0)
    if (this.#isReady) this.#tellEnd(made, freed)
    else this.#freed.push(made)
  }

  #end(made: Made, ending: Ending): void {
    this.#made.delete(made.id)
    if (made.isAsked) made.ending = ending
    else this.#tellEnd(made, ending)
  }

  #tellEnd(made: Made, ending: Ending): void {
    const { at } = made
    const told =
      at === null ? this.#windows.end({ ...made, at: 0 }, freed) : this.#windows.end({ ...made, at }, ending)
    // Where Redis does not hear of it, the slot is free when its lease lapses.
    told.catch(() => undefined)
  }

  #renew(): void {
    if (!this.#isReady) return
    for (const made of this.#made.values()) this.#windows.renew(made).catch(() => undefined)
  }

  async close(): Promise<void> {
    clearInterval(this.#renewing)
    // The end that we make ourselves is no news.
    this.#isToldAway = true
    await Promise.all([this.#windows.close(), this.#alone.close()])
  }
}
