/**
 * What the relay asks of the authority: to set money aside, to take note of how far a stream has come, to end a
 * hold with its bill. The authority runs on a thread of its own. A hold is answered at once, and names the commit that
 * makes it durable, for the upstream is asked meanwhile; everything else is answered once it is on disk.
 */
import type { RefusalCode, RefusalDetail } from '../errors.ts'
import type { Claim, SettleCause } from '../ledger/events.ts'
import type { Usage } from '../ledger/price.ts'
import type { RateStatus } from '../limits/rate-limiter.ts'

/** An `Idempotency-Key` to claim with a hold. */
export interface ClaimAsk extends Claim {
  /** The last commit that the asker has looked at in vain for what the key came to. */
  readonly seen: number
}

export interface HoldAsk {
  readonly id: string
  readonly keyId: string
  readonly model: string
  readonly inputTokens: number
  readonly results: number
  /** The caller's maximum of output tokens per result; `null`: not given. */
  readonly askedTokens: number | null
  readonly stream: boolean
  readonly claim?: ClaimAsk | undefined
}

export interface HoldGranted {
  readonly granted: true
  /** Output tokens that are paid for, over all results. */
  readonly outputTokens: number
  /** The maximum per result to send upstream, when money requires another than the caller's. */
  readonly maximumTokens: number | null
  /** The commit that makes the hold durable. */
  readonly commit: number
  readonly rates: RateStatus | null
}

export interface HoldRefused {
  readonly granted: false
  readonly code: RefusalCode
  readonly detail: RefusalDetail
  readonly rates: RateStatus | null
  /** What the key came to may be on disk as of this commit, which now is: look there, then ask again. */
  readonly lookAgain?: number
}

export type HoldAnswer = HoldGranted | HoldRefused

/** How a request ended, for its row. */
export interface RequestOutcome {
  readonly httpStatus: number
  readonly outcome: 'ok' | 'refused' | 'failed' | 'truncated' | 'aborted' | 'ended'
  readonly upstream: string | null
  readonly finish: string | null
  readonly errorCode: string | null
  /** Why no upstream has answered, as the last attempt tells it, and which one that was. */
  readonly fault?: string | undefined
  readonly faultUpstream?: string | undefined
  readonly firstTokenMs: number | null
  readonly durationMs: number
  /** Upstreams tried, as JSON of the automation contract's `attempts`. */
  readonly attempts: string
  /** What the answer costs us: nanos as decimal text, for it travels as JSON; `null`: unknown. */
  readonly upstreamCost: string | null
  /** The provider claimed more usage than the model can hold. */
  readonly isClamped: boolean
  readonly stream: boolean
  readonly model: string
}

/** `usage` null: the hold is released, nothing is charged. */
export interface SettleAsk {
  readonly id: string
  readonly usage: Usage | null
  readonly cause: SettleCause
  /** The model that answered in the place of the one that was asked for; `null`: that one did. */
  readonly servedModel: string | null
  readonly outcome: RequestOutcome
}

/** What the caller was told, for whoever repeats the request under its `Idempotency-Key`. */
export interface KeptAnswer {
  /** Sealed; null: too large to keep. */
  readonly sealed: Uint8Array | null
  /** A whole answer is kept also where it cost nothing. */
  readonly isWhole: boolean
}

/** Every promise rejects with the refusal `service_unavailable` when the store does not take commits. */
export interface Bookkeeper {
  hold(ask: HoldAsk): Promise<HoldAnswer>
  /** Takes one request's place in the rates of a key and its account, and no money. Rejects with the refusal. */
  takeRate(id: string, keyId: string): Promise<RateStatus>
  /**
   * Asks for the next chunk of a stream's money; the new total of output tokens that are paid for, unchanged when
   * nothing more can be. `remaining`: output tokens the stream may still write.
   */
  extend(id: string, remaining: number): Promise<number>
  /** Notes what has come from the upstream. */
  mark(id: string, inputTokens: number, outputTokens: number): Promise<void>
  /** Ends a hold; the nanos charged. `kept`: of a hold that has claimed a key. */
  settle(ask: SettleAsk, kept: KeptAnswer | null): Promise<bigint>
  /** A request that was refused without a hold, for the statistics. */
  refused(id: string, keyId: string, outcome: RequestOutcome): void
  /** The last commit that is known to be on disk. */
  readonly newestDurable: number
  /** Is this commit on disk? */
  isDurable(commit: number): boolean
  /** Resolves when the commit is on disk. */
  durable(commit: number): Promise<void>
}
