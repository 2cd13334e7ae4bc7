/**
 * The relay's interface to the ledger, which runs on the main thread: hold money, mark how far a stream has come,
 * settle a hold with its bill. A hold is granted at once and names the commit that makes it durable, so that the
 * upstream request can be sent meanwhile. All other calls resolve when they are on disk.
 */
import type { ApiErrorCode, ApiErrorDetail } from '../errors.ts'
import type { ResponseToStore, SettleRequest } from '../ledger/transaction.ts'
import type { HoldTerms } from '../ledger/cost-bound.ts'
import type { IdempotencyClaim } from '../ledger/events.ts'
import type { RateStatus } from '../limits/rate-limiter.ts'

/** An `Idempotency-Key` to claim with a hold. */
export interface IdempotencyClaimRequest extends IdempotencyClaim {
  /** The last commit in which the client has looked for a response to the key, without finding one. */
  readonly seenCommit: number
}

export interface HoldRequest {
  readonly id: string
  readonly keyId: string
  readonly model: string
  readonly inputTokens: number
  readonly results: number
  /** The caller's maximum of output tokens per result; `null`: none. */
  readonly requestedTokens: number | null
  /** The name under which this is sent, where upstreams may have another; absent: their own. */
  readonly maximumField?: string
  /** Web searches that are held in addition, at the model's price per search. */
  readonly searches: number
  readonly stream: boolean
  /** Held at the caller's maximum, also on routes that have not been seen to obey one. */
  readonly holdsOwnMaximum?: boolean
  /** Absent for most requests. */
  readonly terms?: HoldTerms
  readonly claim?: IdempotencyClaimRequest | undefined
}

export interface HoldGranted {
  readonly granted: true
  /** Output tokens that are paid for, over all results. */
  readonly outputTokens: number
  /** The maximum per result to send upstream, if the account cannot pay for the caller's. */
  readonly maximumTokens: number | null
  /** The commit that makes the hold durable. */
  readonly commit: number
  readonly rates: RateStatus | null
}

export interface HoldRejected {
  readonly granted: false
  readonly code: ApiErrorCode
  readonly detail: ApiErrorDetail
  readonly rates: RateStatus | null
  /** A response to the key may be stored as of this commit, which is durable now: look it up, then try again. */
  readonly retryAfterCommit?: number
}

export type HoldResponse = HoldGranted | HoldRejected

/** Every promise rejects with `service_unavailable` if the store does not accept commits. */
export interface LedgerClient {
  hold(request: HoldRequest): Promise<HoldResponse>
  /** Counts a token count in the windows that a key and its account have for them. Rejects if one is full. */
  takeTokenCount(id: string, keyId: string): Promise<RateStatus>
  /** Counts a replay of a stored response in the window that a key has for replays alone. Rejects if it is full. */
  takeReplay(id: string, keyId: string): Promise<void>
  /** The balance of an account in nanos. */
  balanceOf(accountId: string): Promise<bigint>
  /**
   * Extends a stream's hold by the next chunk. Resolves with the new total of output tokens that are paid for,
   * unchanged if the account cannot pay for more. `remaining`: output tokens that the stream may still write. `searches`:
   * web searches to hold in addition; 0 if the account cannot pay for them.
   */
  extend(id: string, remaining: number, searches: number): Promise<number>
  /** Marks how much has been received from the upstream. */
  mark(id: string, inputTokens: number, outputTokens: number): Promise<void>
  /** Settles a hold; resolves with the nanos charged. The response is stored if the hold claimed a key. */
  settle(request: SettleRequest, response: ResponseToStore | null): Promise<bigint>
  /** The last commit that is known to be durable. */
  readonly lastDurableCommit: number
  /** Is this commit durable? */
  isDurable(commit: number): boolean
  /** Resolves when the commit is durable. */
  whenDurable(commit: number): Promise<void>
}
