/**
 * What a node of a cluster asks of the ledger: operations that wait until the rows they touch are loaded and locked.
 * They bring everything along, for they may be carried out more than once before a transaction holds.
 */
import type { RequestRow } from '../../db/messages.ts'
import type { Caps, Denial } from '../../ledger/caps.ts'
import type { TrialEnd } from '../../ledger/end-trial.ts'
import type { Price } from '../../ledger/price.ts'
import type { Hold } from '../../ledger/state.ts'
import type { CreditOperation, Granted, HoldOperation } from '../../ledger/operations.ts'
import type { KeptAnswer, SettleAsk } from '../../relay/ledger-client.ts'

/** The `Idempotency-Key` is that of a request which runs, or of one whose answer is kept. */
export type Taken = { readonly kind: 'running'; readonly by: Hold } | { readonly kind: 'kept' }

export interface HoldWork {
  readonly kind: 'hold'
  readonly operation: HoldOperation
  /** `null`: the database is away. */
  readonly answer: (answer: Granted | Denial | Taken | null) => void
  /** Answered already, because the database was away: if it was granted after all, it is released. */
  isGivenUp: boolean
}

export interface ExtendWork {
  readonly kind: 'extend'
  readonly id: string
  readonly at: number
  readonly remaining: number
  readonly caps: Caps
  readonly answer: (outputTokens: number) => void
}

export interface SettleWork {
  readonly kind: 'settle'
  readonly ask: SettleAsk
  readonly kept: KeptAnswer | null
  /** The price of the model that has answered, where it is another than the one asked for. */
  readonly otherPrice: Price | undefined
  readonly at: number
  readonly caps: Caps
  readonly answer: (charge: bigint) => void
  /** On this node's disk, and answered: the database hears of it when it is back. */
  isKept: boolean
}

export interface ExpireWork {
  readonly kind: 'expire'
  readonly id: string
  readonly at: number
  readonly caps: Caps
  /** Whose money it is, where the hold is another node's. */
  readonly owners: readonly string[] | null
  /** The one that alone can have answered it; `null`: that is not known. */
  readonly upstream: string | null
  /** Its node may still settle it: what it costs beyond the last mark is overrun then. */
  readonly isRetired: boolean
  readonly answer: () => void
}

export type Credited = { readonly kind: 'entered'; readonly balance: bigint } | CreditRefusal
export type CreditRefusal =
  | { readonly kind: 'known'; readonly amount: bigint; readonly balance: bigint }
  | { readonly kind: 'too-much'; readonly free: bigint }
  | { readonly kind: 'too-large' }

export interface CreditWork {
  readonly kind: 'credit'
  readonly operation: CreditOperation
  /** `null`: the database is away. It may have been entered all the same; asked for again it is known. */
  readonly answer: (answer: Credited | null) => void
  isGivenUp: boolean
}

/** The end of a trial credit: what is left of it is taken back. */
export interface TrialWork {
  readonly kind: 'trial'
  readonly end: TrialEnd
  /** `null`: the database is away. */
  readonly answer: (answer: { readonly taken: bigint; readonly isDone: boolean } | null) => void
  isGivenUp: boolean
}

/** A request that was refused without a hold. */
export interface RowWork {
  readonly kind: 'row'
  readonly row: RequestRow
}

export type Work = HoldWork | ExtendWork | SettleWork | ExpireWork | CreditWork | TrialWork | RowWork

/** Sends away who waits for it. */
export function giveUp(work: HoldWork | CreditWork | TrialWork): void {
  if (work.isGivenUp) return
  work.isGivenUp = true
  work.answer(null)
}
