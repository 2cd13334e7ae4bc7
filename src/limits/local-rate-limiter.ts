/**
 * The rate limiter of a single relay, and of a node without Redis: it admits its share of every limit, so that all nodes together do not
 * exceed it. The remainder of the division goes to the first nodes.
 */
import {
  RateLimiter,
  slotRetryMs,
  type RateDenial,
  type RateLimits,
  type RateLimitSubject,
  type RateStatus,
} from './rate-limiter.ts'
import { windowSeconds } from './sliding-window.ts'

export interface RateLimitResult {
  readonly denial: RateDenial | null
  readonly status: RateStatus
}

/** What admission needs of a rate limiter. */
export interface AdmissionRates {
  reserve(
    id: string,
    subjects: readonly RateLimitSubject[],
    tokens: number,
  ): RateLimitResult | Promise<RateLimitResult>
  /** Reserves this many tokens for a request that was admitted with fewer, even if they do not fit. */
  raise(id: string, tokens: number): void
  /** Cancels the reservation of a request that the ledger rejected. */
  cancel(id: string): void
  /** Ends a request with its actual tokens; `null`: as reserved. */
  finish(id: string, tokens: number | null): void
  /** The remaining limits now; `null`: only Redis knows them. */
  status(subjects: readonly RateLimitSubject[]): RateStatus | null
}

/** The rate limiter of a node in a cluster. */
export interface ClusterRateLimiter extends AdmissionRates {
  /** Frees the slot of a request of an earlier process of this node, or of a node that is gone. */
  release(id: string, subjects: readonly string[]): void
  /** True if the limits are counted across all nodes. */
  readonly isShared: boolean
  close(): Promise<void>
}

/** The index of this node among the nodes that are alive. */
export interface NodePosition {
  readonly nodes: number
  readonly index: number
}

function shareOf(limit: number | null, { nodes, index }: NodePosition): number | null {
  if (limit === null) return null
  return Math.floor(limit / nodes) + (index < limit % nodes ? 1 : 0)
}

const limitNames = {
  'requests per minute': 'rpm',
  'tokens per minute': 'tpm',
  'concurrent requests': 'concurrency',
} as const satisfies Record<RateDenial['rate'], keyof RateLimits>

/**
 * Names the whole limit instead of this node's share, which callers do not know. A request that only the share is too
 * small for may be admitted by another node or, if it is its tokens, when Redis is back.
 */
function denialOfWholeLimit(
  denial: RateDenial,
  subjects: readonly RateLimitSubject[],
  tokens: number,
): RateDenial {
  const limits = subjects.find(({ subject }) => subject === denial.subject)?.limits
  const limit = limits?.[limitNames[denial.rate]] ?? denial.limit
  const isTokens = denial.rate === 'tokens per minute'
  if (denial.retryAfterMs !== null || limit < (isTokens ? tokens : 1)) return { ...denial, limit }
  return { ...denial, limit, retryAfterMs: isTokens ? windowSeconds * 1000 : slotRetryMs }
}

export class LocalRateLimiter implements ClusterRateLimiter {
  readonly isShared = false
  readonly #limiter: RateLimiter
  readonly #nodePosition: () => NodePosition
  readonly #monotonicNow: () => number
  readonly #sweepTimer: NodeJS.Timeout

  constructor(nodePosition: () => NodePosition, monotonicNow: () => number, limiter = new RateLimiter()) {
    this.#limiter = limiter
    this.#nodePosition = nodePosition
    this.#monotonicNow = monotonicNow
    this.#sweepTimer = setInterval(() => this.#limiter.sweep(this.#monotonicNow()), 60_000)
    this.#sweepTimer.unref()
  }

  reserve(id: string, subjects: readonly RateLimitSubject[], tokens: number): RateLimitResult {
    const now = this.#monotonicNow()
    const sharedSubjects = this.#sharesOf(subjects)
    const denial = this.#limiter.reserve(id, sharedSubjects, tokens, now)
    return {
      denial: denial && denialOfWholeLimit(denial, subjects, tokens),
      status: this.#limiter.status(sharedSubjects, now),
    }
  }

  #sharesOf(subjects: readonly RateLimitSubject[]): readonly RateLimitSubject[] {
    const position = this.#nodePosition()
    if (position.nodes === 1) return subjects
    return subjects.map(({ subject, limits }) => ({
      subject,
      limits: {
        rpm: shareOf(limits.rpm, position),
        tpm: shareOf(limits.tpm, position),
        concurrency: shareOf(limits.concurrency, position),
      },
    }))
  }

  status(subjects: readonly RateLimitSubject[]): RateStatus {
    return this.#limiter.status(this.#sharesOf(subjects), this.#monotonicNow())
  }

  /** Counts a request that Redis admitted. */
  record(subjects: readonly string[], tokens: number): void {
    this.#limiter.restore(subjects, this.#monotonicNow(), tokens)
  }

  /** True if any request of the last minute is counted here. */
  get hasAdmitted(): boolean {
    return this.#limiter.size > 0
  }

  raise(id: string, tokens: number): void {
    this.#limiter.raise(id, tokens)
  }

  cancel(id: string): void {
    this.#limiter.cancel(id)
  }

  finish(id: string, tokens: number | null): void {
    this.#limiter.finish(id, tokens, this.#monotonicNow())
  }

  /** Does nothing: these counts end with the process. */
  release(): void {}

  close(): Promise<void> {
    clearInterval(this.#sweepTimer)
    return Promise.resolve()
  }
}
