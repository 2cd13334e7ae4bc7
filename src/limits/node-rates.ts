/**
 * Rates of a node that cannot ask the others: it admits its share of every limit, so that all nodes together admit no
 * more than the whole. What does not divide goes to the first nodes.
 */
import { Rates, type Claim, type RateDenial, type RateStatus } from './rate-limiter.ts'

export interface Reserved {
  readonly denial: RateDenial | null
  readonly status: RateStatus
}

/** Rates as a node of a cluster asks for them. */
export interface NodeRates {
  reserve(id: string, claims: readonly Claim[], tokens: number): Reserved | Promise<Reserved>
  /** The ledger refused: nothing was consumed. */
  giveBack(id: string): void
  /** The request ended, with so many tokens; `null`: as reserved. */
  finish(id: string, tokens: number | null): void
  /** A request that an earlier process of this node, or a node that is gone, had running has ended. */
  free(id: string, subjects: readonly string[]): void
  /** Whether the limits are counted over all nodes. */
  readonly isShared: boolean
  close(): Promise<void>
}

export interface Place {
  readonly nodes: number
  readonly place: number
}

function shareOf(limit: number | null, { nodes, place }: Place): number | null {
  if (limit === null) return null
  return Math.floor(limit / nodes) + (place < limit % nodes ? 1 : 0)
}

export class AloneRates implements NodeRates {
  readonly isShared = false
  readonly #rates = new Rates()
  readonly #placeNow: () => Place
  readonly #steady: () => number
  readonly #sweeping: NodeJS.Timeout

  constructor(placeNow: () => Place, steady: () => number) {
    this.#placeNow = placeNow
    this.#steady = steady
    this.#sweeping = setInterval(() => this.#rates.sweep(this.#steady()), 60_000)
    this.#sweeping.unref()
  }

  reserve(id: string, claims: readonly Claim[], tokens: number): Reserved {
    const now = this.#steady()
    const place = this.#placeNow()
    const shares = claims.map(({ subject, limits }) => ({
      subject,
      limits: {
        rpm: shareOf(limits.rpm, place),
        tpm: shareOf(limits.tpm, place),
        concurrency: shareOf(limits.concurrency, place),
      },
    }))
    const denial = this.#rates.reserve(id, shares, tokens, now)
    return { denial, status: this.#rates.status(shares, now) }
  }

  /** Counts a request that was admitted by another way. */
  remember(subjects: readonly string[], tokens: number): void {
    this.#rates.remember(subjects, this.#steady(), tokens)
  }

  /** Whether anything of the last minute is counted here. */
  get hasAdmitted(): boolean {
    return this.#rates.size > 0
  }

  giveBack(id: string): void {
    this.#rates.giveBack(id)
  }

  finish(id: string, tokens: number | null): void {
    this.#rates.finish(id, tokens, this.#steady())
  }

  /** What is counted here ends with the process. */
  free(): void {}

  close(): Promise<void> {
    clearInterval(this.#sweeping)
    return Promise.resolve()
  }
}
