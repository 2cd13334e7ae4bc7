/**
 * The operations that a node of a cluster queues until the rows they touch are loaded and locked. They carry everything
 * that they need, because they may be applied more than once before a transaction is committed.
 */
import type { RequestRow } from '../../../db/ledger-commit.ts'
import type { Caps, Denial } from '../../../ledger/caps.ts'
import type { TrialEnd } from '../../../ledger/end-trial.ts'
import type { Price } from '../../../ledger/price.ts'
import type { Hold } from '../../../ledger/state.ts'
import type { CreditOperation, GrantedHold, HoldOperation } from '../../../ledger/operations.ts'
import type { ResponseToStore, SettleRequest } from '../../../relay/ledger-client.ts'

/** The `Idempotency-Key` belongs to a running request, or to one whose response is stored. */
export type ClaimConflict = { readonly kind: 'running'; readonly by: Hold } | { readonly kind: 'stored' }

export interface QueuedHold {
  readonly kind: 'hold'
  /** Gets the database's time if this node's clock is wrong. */
  hold: HoldOperation
  /** The account's time zone, of which the hold has the present periods. */
  readonly timezone: string
  /** `null`: the database is unavailable. */
  readonly reply: (result: GrantedHold | Denial | ClaimConflict | null) => void
  /** The caller was rejected because the database was unavailable: a hold that was granted after all is released. */
  isAbandoned: boolean
}

export interface QueuedExtend {
  readonly kind: 'extend'
  readonly id: string
  readonly at: number
  readonly remaining: number
  readonly caps: Caps
  readonly reply: (outputTokens: number) => void
}

export interface QueuedSettle {
  readonly kind: 'settle'
  readonly request: SettleRequest
  readonly storedResponse: ResponseToStore | null
  /** The price of the model that responded, if it is not the requested one. */
  readonly otherPrice: Price | undefined
  readonly at: number
  readonly caps: Caps
  readonly reply: (charge: bigint) => void
  /** Saved on this node's disk and replied to. The database gets it when it is available again. */
  isSavedLocally: boolean
}

export interface QueuedExpire {
  readonly kind: 'expire'
  readonly id: string
  readonly at: number
  readonly caps: Caps
  /** The owners of the hold, if it belongs to another node. */
  readonly owners: readonly string[] | null
  /** The only upstream that can have responded; `null`: unknown. */
  readonly upstream: string | null
  /** The hold's node may still settle it; the cost beyond the last mark is then overrun. */
  readonly isRetired: boolean
  readonly reply: () => void
}

export type CreditResult = { readonly kind: 'entered'; readonly balance: bigint } | CreditRejection
export type CreditRejection =
  | { readonly kind: 'known'; readonly amount: bigint; readonly balance: bigint }
  | { readonly kind: 'too-much'; readonly free: bigint }
  | { readonly kind: 'too-large' }

export interface QueuedCredit {
  readonly kind: 'credit'
  readonly credit: CreditOperation
  /** `null`: the database is unavailable. The credit may have been entered all the same; repeated, it is `known`. */
  readonly reply: (result: CreditResult | null) => void
  isAbandoned: boolean
}

/** The end of a trial credit: the remainder is taken back. */
export interface QueuedTrialEnd {
  readonly kind: 'trial'
  readonly end: TrialEnd
  /** `null`: the database is unavailable. */
  readonly reply: (result: { readonly taken: bigint; readonly isDone: boolean } | null) => void
  isAbandoned: boolean
}

/** A request that was rejected before it had a hold. */
export interface QueuedRequestRow {
  readonly kind: 'row'
  readonly row: RequestRow
}

export type QueuedOperation =
  | QueuedHold
  | QueuedExtend
  | QueuedSettle
  | QueuedExpire
  | QueuedCredit
  | QueuedTrialEnd
  | QueuedRequestRow

/** Replies that the database is unavailable. */
export function abandon(operation: QueuedHold | QueuedCredit | QueuedTrialEnd): void {
  if (operation.isAbandoned) return
  operation.isAbandoned = true
  operation.reply(null)
}

/** Whether it is a settlement that this node's disk has. */
export function isSavedSettlement(operation: QueuedOperation): operation is QueuedSettle {
  return operation.kind === 'settle' && operation.isSavedLocally
}

/** Whether somebody still waits for the operation. */
export function isStillWanted(operation: QueuedOperation): boolean {
  return !('isAbandoned' in operation) || !operation.isAbandoned
}
