/**
 * The rate limiter of a node without Redis: it admits its share of every limit, so that all nodes together do not
 * exceed it. The remainder of the division goes to the first nodes.
 */
import { RateLimiter, type RateLimitSubject, type RateDenial, type RateStatus } from './rate-limiter.ts'

export interface RateLimitResult {
  readonly denial: RateDenial | null
  readonly status: RateStatus
}

/** The rate limiter of a node in a cluster. */
export interface ClusterRateLimiter {
  reserve(
    id: string,
    subjects: readonly RateLimitSubject[],
    tokens: number,
  ): RateLimitResult | Promise<RateLimitResult>
  /** Cancels the reservation of a request that the ledger rejected. */
  cancel(id: string): void
  /** Ends a request with its actual tokens; `null`: as reserved. */
  finish(id: string, tokens: number | null): void
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

export class LocalRateLimiter implements ClusterRateLimiter {
  readonly isShared = false
  readonly #limiter = new RateLimiter()
  readonly #nodePosition: () => NodePosition
  readonly #monotonicNow: () => number
  readonly #sweepTimer: NodeJS.Timeout

  constructor(nodePosition: () => NodePosition, monotonicNow: () => number) {
    this.#nodePosition = nodePosition
    this.#monotonicNow = monotonicNow
    this.#sweepTimer = setInterval(() => this.#limiter.sweep(this.#monotonicNow()), 60_000)
    this.#sweepTimer.unref()
  }

  reserve(id: string, subjects: readonly RateLimitSubject[], tokens: number): RateLimitResult {
    const now = this.#monotonicNow()
    const position = this.#nodePosition()
    const sharedSubjects = subjects.map(({ subject, limits }) => ({
      subject,
      limits: {
        rpm: shareOf(limits.rpm, position),
        tpm: shareOf(limits.tpm, position),
        concurrency: shareOf(limits.concurrency, position),
      },
    }))
    const denial = this.#limiter.reserve(id, sharedSubjects, tokens, now)
    return { denial, status: this.#limiter.status(sharedSubjects, now) }
  }

  /** Counts a request that Redis admitted. */
  record(subjects: readonly string[], tokens: number): void {
    this.#limiter.restore(subjects, this.#monotonicNow(), tokens)
  }

  /** True if any request of the last minute is counted here. */
  get hasAdmitted(): boolean {
    return this.#limiter.size > 0
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
