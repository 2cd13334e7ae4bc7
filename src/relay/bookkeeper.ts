/**
 * What the relay asks of the authority: to set money aside, to take note of how far a stream has come, to end a
 * hold with its bill. The authority runs on a thread of its own; every answer names the commit that makes it
 * durable, and nothing that depends on it is told to the caller before that commit is.
 */
import type { RefusalCode, RefusalDetail } from '../errors.ts'
import type { SettleCause } from '../ledger/events.ts'
import type { Usage } from '../ledger/price.ts'
import type { RateStatus } from '../limits/rates.ts'

export interface HoldAsk {
  readonly id: string
  readonly keyId: string
  readonly model: string
  readonly inputTokens: number
  readonly results: number
  /** The caller's maximum of output tokens per result; `null`: not given. */
  readonly askedTokens: number | null
  readonly stream: boolean
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
}

export type HoldAnswer = HoldGranted | HoldRefused

export interface Extension {
  /** The new total of output tokens that are paid for; unchanged when nothing more can be paid. */
  readonly outputTokens: number
  readonly commit: number
}

/** How a request ended, for its row. */
export interface RequestOutcome {
  readonly httpStatus: number
  readonly outcome: 'ok' | 'refused' | 'failed' | 'truncated' | 'aborted' | 'ended'
  readonly upstream: string | null
  readonly finish: string | null
  readonly errorCode: string | null
  readonly firstTokenMs: number | null
  readonly durationMs: number
  /** Upstreams tried, as JSON of the automation contract's `attempts`. */
  readonly attempts: string
  readonly stream: boolean
  readonly model: string
}

/** `usage` null: the hold is released, nothing is charged. */
export interface SettleAsk {
  readonly id: string
  readonly usage: Usage | null
  readonly cause: SettleCause
  readonly outcome: RequestOutcome
}

export interface SettleAnswer {
  /** Nanos charged. */
  readonly charge: bigint
  readonly commit: number
}

export interface Bookkeeper {
  hold(ask: HoldAsk): Promise<HoldAnswer>
  /** `remaining`: output tokens the stream may still write. */
  extend(id: string, remaining: number): Promise<Extension>
  /** Notes what has come from the upstream; resolves once that is durable. */
  mark(id: string, inputTokens: number, outputTokens: number): Promise<void>
  settle(ask: SettleAsk): Promise<SettleAnswer>
  /** A request that was refused before a hold, for the statistics. */
  refused(keyId: string, id: string, outcome: RequestOutcome): void
  /** Is this commit on disk? */
  isDurable(commit: number): boolean
  /** Resolves when the commit is on disk; rejects when the store has failed. */
  durable(commit: number): Promise<void>
}
