/**
 * What happened to money. Operations are asked for; events are what the ledger decided, and only they are
 * kept: a journal of decisions can be replayed by a later version whose rules have changed.
 */
import type { Price, Usage } from './price.ts'

/** An `Idempotency-Key` that a request has claimed for its account; both SHA-256, as base64url. */
export interface Claim {
  readonly key: string
  /** Of the request's body: the same key with another body is a mistake. */
  readonly body: string
}

export interface Held {
  readonly kind: 'held'
  readonly id: string
  readonly at: number
  readonly account: string
  readonly key: string
  readonly model: string
  readonly amount: bigint
  readonly price: Price
  readonly factorPpm: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly dayEnd: number
  readonly monthEnd: number
  /** The model has a limit of requests per day: this one counts in it. */
  readonly countsForModel?: true | undefined
  /** Most requests claim nothing. */
  readonly claim?: Claim | undefined
}

/** More money was set aside for a running stream. `outputTokens` is the new total it pays. */
export interface Extended {
  readonly kind: 'extended'
  readonly id: string
  readonly at: number
  readonly amount: bigint
  readonly outputTokens: number
}

/** So much had come from the upstream; a crash is settled here. */
export interface Marked {
  readonly kind: 'marked'
  readonly id: string
  readonly at: number
  readonly inputTokens: number
  readonly outputTokens: number
}

export type SettleCause = 'provider' | 'estimate' | 'mark'

/** The hold ended with a bill. `charge + overrun` is the full cost of `usage` at the hold's price, or at `price`. */
export interface Settled {
  readonly kind: 'settled'
  readonly id: string
  readonly at: number
  readonly cause: SettleCause
  readonly usage: Usage
  readonly charge: bigint
  readonly overrun: bigint
  /** Of the model that answered in the place of the one asked for, where that costs less. */
  readonly price?: Price
}

/** The hold ended and cost nothing. */
export interface Released {
  readonly kind: 'released'
  readonly id: string
  readonly at: number
}

/** Where money came from: an operator's word, a payment, a promotion, a voucher; a request that was paid back. */
export type CreditKind = 'credit' | 'payment' | 'trial' | 'voucher' | 'refund' | 'demo'

/** Money came in, or was taken back when negative. */
export interface Credited {
  readonly kind: 'credited'
  readonly id: string
  readonly at: number
  readonly account: string
  readonly amount: bigint
  readonly source: CreditKind
  readonly reason: string
}

/**
 * A node came back after it had been retired, and its holds charged at their last marks: what such a request had cost
 * beyond that was delivered and is not charged any more.
 */
export interface Late {
  readonly kind: 'late'
  readonly id: string
  readonly at: number
  readonly account: string
  readonly overrun: bigint
}

export type LedgerEvent = Held | Extended | Marked | Settled | Released | Credited | Late
