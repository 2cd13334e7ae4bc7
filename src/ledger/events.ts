/**
 * What happened to money. Callers ask for operations; events are what the ledger decided. Only events are
 * stored, so that a later version with different rules can replay the journal.
 */
import type { PeriodEnds } from './periods.ts'
import type { HoldTerms } from './cost-bound.ts'
import type { Price, Usage } from './price.ts'

/** An `Idempotency-Key` that a request has claimed for its account. Both fields are SHA-256 in base64url. */
export interface IdempotencyClaim {
  readonly key: string
  /** Hash of the request's body. The same key with another body is a caller's mistake. */
  readonly body: string
}

/** What every event has. `id`: of the request, the credit or the owner; `at`: milliseconds since the epoch. */
interface EventOf<Kind extends string> {
  readonly kind: Kind
  readonly id: string
  readonly at: number
}

export interface Held extends EventOf<'held'>, PeriodEnds {
  readonly account: string
  readonly key: string
  readonly model: string
  readonly amount: bigint
  readonly price: Price
  readonly factorPpm: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** The model has a limit of requests per day, and this request counts towards it. */
  readonly countsForModel?: true | undefined
  /** Absent for most requests. */
  readonly claim?: IdempotencyClaim | undefined
  /** Absent for most requests. */
  readonly terms?: HoldTerms | undefined
}

/** More money was held for a running stream. `outputTokens` is the new total that the hold pays for. */
export interface Extended extends EventOf<'extended'> {
  readonly amount: bigint
  readonly outputTokens: number
}

/** How much had arrived from the upstream. After a crash the request is settled at its last mark. */
export interface Marked extends EventOf<'marked'> {
  readonly inputTokens: number
  readonly outputTokens: number
}

export type SettleCause = 'provider' | 'estimate' | 'mark'

/**
 * The hold ended with a bill. `charge + overrun` is the full cost of `usage` at the hold's price, or at
 * `price` if given.
 */
export interface Settled extends EventOf<'settled'> {
  readonly cause: SettleCause
  readonly usage: Usage
  readonly charge: bigint
  readonly overrun: bigint
  /** The price of a fallback model that answered in place of the requested one, if that costs less. */
  readonly price?: Price
}

/** The hold ended without a charge. */
export type Released = EventOf<'released'>

/**
 * Where money came from: an operator's credit, a payment, what is given on top of one or for an invitation, a promotion, a
 * voucher, the refund of a request, or the demo.
 */
export type CreditKind = 'credit' | 'payment' | 'bonus' | 'trial' | 'voucher' | 'refund' | 'demo'

/** Money was credited, or debited if `amount` is negative. */
export interface Credited extends EventOf<'credited'> {
  readonly account: string
  readonly amount: bigint
  readonly source: CreditKind
  readonly reason: string
  /** The account had caused an overrun, whose restrictions end. */
  readonly endsOverrun?: true | undefined
}

/** What a late bill is charged. It counts in the periods of its hold. */
export interface LateCharge extends PeriodEnds {
  readonly key: string
  readonly amount: bigint
}

/**
 * A retired node came back after its holds had been charged at their last marks. What its requests had cost
 * beyond that is charged as far as money is available; the rest was delivered and is not charged any more.
 */
export interface Late extends EventOf<'late'> {
  readonly account: string
  readonly overrun: bigint
  /** Absent: nothing was available, or a release before 0.6.0 wrote it. */
  readonly charge?: LateCharge | undefined
}

/**
 * The clock had been ahead and is right again: the periods of an owner are those of the present once more. What was spent
 * in them was read from the request rows; it applies to a period that the owner had left.
 */
export interface Reopened extends EventOf<'reopened'>, PeriodEnds {
  readonly daySpent: bigint
  readonly dayRequests: number
  readonly monthSpent: bigint
}

export type LedgerEvent = Held | Extended | Marked | Settled | Released | Credited | Late | Reopened
