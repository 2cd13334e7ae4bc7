/** A request to the relay, and what the relay needs to serve it. */
import type { Caller } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import type { IdempotencyClaim } from '../ledger/events.ts'
import type { Bill } from './bill.ts'
import type { RequestOutcome } from '../ledger/request-row.ts'
import type { CallerRequest } from './request/caller-format.ts'
import type { EndReason } from './end-reason.ts'
import type { AttemptRecord } from './routing/attempt-record.ts'
import type { FailoverDeps } from './routing/failover.ts'
import type { IdempotencyDeps } from './idempotency.ts'

export interface RelayDeps extends FailoverDeps, IdempotencyDeps {
  readonly keepAliveMs: number
  readonly slowClientMs: number
  /** Bounds of draining: reading on for the bill after the caller has disconnected. */
  readonly drain: { readonly tokens: number; readonly ms: number }
  /** Called once per request, for its line in the log. */
  readonly logRequest: (line: RequestLogLine) => void
  /** Called instead when a stored response is replayed. */
  readonly onReplay: (request: RelayRequest, requestId: string) => void
}

/** The progress of a request, for the report if it is rejected. */
export interface RequestProgress {
  model: string
  stream: boolean
  /** If true, the relay writes the request's row and its line in the log. */
  isAdmitted: boolean
}

/** A request that has been parsed, and whose caller may use the model. */
export interface RelayRequest {
  readonly id: string
  readonly caller: Caller
  readonly model: PricedModel
  /** Models that may serve the request instead, none of them more expensive. */
  readonly fallbacks: readonly PricedModel[]
  readonly request: CallerRequest
  /** The claim of the caller's `Idempotency-Key`, if there is one. */
  readonly claim: IdempotencyClaim | null
  /** Headers of every response, such as the request's id. A replayed response has the id of the first request. */
  readonly commonHeaders: string[]
  /** Sent with every response, including errors; the relay adds to it. */
  readonly headers: string[]
  readonly progress: RequestProgress
  /** `performance.now()` when the request was received. */
  readonly startedMs: number
}

export interface RequestLogLine {
  readonly outcome: RequestOutcome
  readonly id: string
  readonly account: string
  readonly key: string
  /** null: the settlement could not be written in time. It is charged later. */
  readonly cost: bigint | null
  readonly usage: Bill['usage'] | null
  readonly fault: string | null
  readonly attempts: readonly AttemptRecord[]
}

/** A request that the relay can end when it shuts down. */
export interface ActiveRequest {
  end(endReason: EndReason): void
}
