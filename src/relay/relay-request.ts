/** What the relay is asked, what it needs for that, and what it tells while it works. */
import type { Caller } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import type { Claim } from '../ledger/events.ts'
import type { Bill } from './bill.ts'
import type { RequestOutcome } from './ledger-client.ts'
import type { CallerRequest } from './caller-format.ts'
import type { Ending } from './end-reason.ts'
import type { FailoverParts } from './failover.ts'
import type { ClaimMeans } from './idempotency.ts'

export interface RelayDeps extends FailoverParts, ClaimMeans {
  readonly keepAliveMs: number
  readonly slowClientMs: number
  /** Bounds of reading on after a caller has left. */
  readonly drain: { readonly tokens: number; readonly ms: number }
  /** Told once per request, for its line in the log. */
  readonly log: (line: RequestLine) => void
  /** Told when a kept answer is given once more, instead. */
  readonly onReplay: (asked: Asked, requestId: string) => void
}

/** How far a request has come, for whoever has to tell of its refusal. */
export interface Progress {
  model: string
  stream: boolean
  /** From here on the relay writes its row and its line in the log. */
  isAdmitted: boolean
}

/** A request that has been read and may be made by its caller. */
export interface Asked {
  readonly id: string
  readonly caller: Caller
  readonly model: PricedModel
  /** Models that may answer in its place, none of them dearer. */
  readonly fallbacks: readonly PricedModel[]
  readonly request: CallerRequest
  /** The caller's `Idempotency-Key`, with what it stands for. */
  readonly claim: Claim | null
  /** Headers of every answer, the request's id among them: a repeated answer has that of the first request. */
  readonly common: string[]
  /** Sent with every answer, refusals too; the relay adds to it. */
  readonly headers: string[]
  readonly progress: Progress
  /** `performance.now()` at arrival. */
  readonly startedMs: number
}

export interface RequestLine {
  readonly outcome: RequestOutcome
  readonly id: string
  readonly account: string
  readonly key: string
  readonly cost: bigint
  readonly usage: Bill['usage'] | null
  readonly fault: string | null
}

/** Ends running streams when the relay is shut down. */
export interface Running {
  end(ending: Ending): void
}
