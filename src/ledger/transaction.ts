/** Every kind of operation on money: what it needs, what its result is, and what the engine (decide.ts) asks of a store. */
import type { RequestRow, StoredResponseRow } from '../db/ledger-commit.ts'
import type { Caps, Denial } from './caps.ts'
import type { TrialEnd } from './end-trial.ts'
import type { LedgerEvent, Marked, SettleCause } from './events.ts'
import type { CreditOperation, ExtendOperation, GrantedHold, HoldOperation } from './operations.ts'
import type { Price, Usage } from './price.ts'
import type { Reopening } from './reopen.ts'
import type { RequestOutcome } from './request-row.ts'
import type { TakeBackOperation, TakeBackResult } from './take-back.ts'
import type { Hold, LedgerState } from './state.ts'

/** What a store has loaded, and the commit that it prepares. */
export interface LedgerTransaction {
  /** At least the owners, the holds, the claims and the credits that the operation touches. */
  readonly state: LedgerState
  /**
   * The last commit that may have stored the response to a claimed key, if the caller has looked for it in an earlier one
   * (`seenCommit`) at the latest. `null`: none has.
   */
  storedBy(claim: string, seenCommit: number): number | null
  /** Removes and returns a hold that was charged when its node was retired, in case the node comes back. */
  takeRetired(id: string): RetiredHold | undefined
  /**
   * Adds an event that was applied to the state, and its entries (`entryRowsOf`). `owners`: those that it changed.
   * `account`: whose money it moves, if any.
   */
  addEvent(event: LedgerEvent, owners: readonly string[], account: string): void
  addRequest(row: RequestRow): void
  /** `claim`: the `claimId` of the key that the response is stored under. */
  addStoredResponse(row: StoredResponseRow, claim: string): void
}

/** A hold that ended when its node was retired. */
export interface RetiredHold {
  readonly hold: Hold
  /** What it was charged then. */
  readonly charge: bigint
  /** The caps of its caller now; `null`: it is not charged any more. */
  readonly caps: Caps | null
}

/** `usage` null: releases the hold, charges nothing. Written as JSON to disk: field names are stable. */
export interface SettleRequest {
  readonly id: string
  readonly usage: Usage | null
  /** What the caller is charged for at most: the bound of the provider's invoice. Absent: `usage`. */
  readonly bound?: Usage
  readonly cause: SettleCause
  /**
   * The caller disconnected before the first content; `usage` is null then. Its own `usage` is what may be charged: the
   * estimated input if the upstream had responded with 2xx, else null. The authority decides, so it is never on disk.
   */
  readonly leftEarly?: { readonly usage: Usage | null }
  /** The fallback model that served the request; `null`: the requested model did. */
  readonly servedModel: string | null
  readonly outcome: RequestOutcome
}

/** The response to store for requests that repeat the `Idempotency-Key`. */
export interface ResponseToStore {
  /** Encrypted; null: too large to store. */
  readonly sealed: Uint8Array | null
  /** A complete response is stored even if it cost nothing. */
  readonly isComplete: boolean
}

/** Every kind of operation with what it needs. Times are in milliseconds since the epoch. */
export interface Operations {
  readonly hold: {
    readonly hold: HoldOperation
    /** The account's time zone, of which the hold has the present periods. */
    readonly timezone: string
    /** The last commit in which the caller has looked for a response to the key that it claims. */
    readonly seenCommit?: number | undefined
  }
  readonly extend: ExtendOperation
  readonly mark: Omit<Marked, 'kind'>
  readonly settle: {
    readonly request: SettleRequest
    readonly storedResponse: ResponseToStore | null
    /** The price of the model that responded, if it is not the requested one. */
    readonly otherPrice: Price | undefined
    readonly at: number
    readonly caps: Caps
  }
  readonly expire: {
    readonly id: string
    readonly at: number
    readonly caps: Caps
    /** The only upstream that can have responded; `null`: unknown. */
    readonly upstream: string | null
  }
  readonly credit: {
    readonly credit: CreditOperation
    /** Nodes of an earlier release run, which cannot read that a credit ends an overrun. */
    readonly keepsOverrun?: boolean
  }
  readonly trial: { readonly end: TrialEnd }
  readonly takeBack: { readonly takeBack: TakeBackOperation }
  readonly reopen: { readonly reopening: Reopening }
}

export type OperationKind = keyof Operations
/** The kinds that enter credits, each of them once. */
export type CreditingKind = 'credit' | 'trial' | 'takeBack'

/** The result of every kind of operation. */
export interface Results {
  readonly hold: GrantedHold | Denial | ClaimConflict
  /** The output tokens that are paid for in total; 0: the hold has ended, or the searches cannot be paid. */
  readonly extend: number
  readonly mark: undefined
  /** The nanos that were charged. */
  readonly settle: bigint
  /** The nanos that were charged; `null`: the hold had ended. */
  readonly expire: bigint | null
  readonly credit: CreditResult
  readonly trial: TrialEndResult
  readonly takeBack: TakeBackResult
  readonly reopen: undefined
}

/** An operation of one of the kinds. */
export type Operation<Kind extends OperationKind = OperationKind> = {
  readonly [K in Kind]: { readonly kind: K } & Operations[K]
}[Kind]

/** The `Idempotency-Key` belongs to a running request, or to one whose response is stored as of `commit`. */
export type ClaimConflict =
  | { readonly kind: 'running'; readonly by: Hold }
  | { readonly kind: 'stored'; readonly commit: number }

export type CreditResult =
  | { readonly kind: 'entered'; readonly balance: bigint }
  | { readonly kind: 'known'; readonly amount: bigint; readonly balance: bigint }
  | { readonly kind: 'too-much'; readonly free: bigint }
  | { readonly kind: 'too-large' }

export interface TrialEndResult {
  /** What was taken back, in nanos. */
  readonly taken: bigint
  /** Nothing remains to be taken back. */
  readonly isDone: boolean
}
