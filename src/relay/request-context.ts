/** One request on its way through the relay, and what the relay needs to serve requests. */
import type { Caller } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import type { IdempotencyClaim } from '../ledger/events.ts'
import type { RequestOutcome } from '../ledger/request-row.ts'
import type { HttpClient } from '../lib/http-client/http-client.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { SlotMap } from '../lib/slot-map.ts'
import type { ResponseItems } from '../usage/response-items.ts'
import type { ResponsePins } from '../usage/response-pins.ts'
import type { StoredResponses } from '../usage/stored-responses.ts'
import type { Bill } from './bill.ts'
import type { EndReason } from './end-reason.ts'
import type { LedgerClient } from './ledger-client.ts'
import type { CallerRequest } from './request/caller-format.ts'
import type { ResponseWriter } from './response-writer.ts'
import type { AttemptRecord } from './routing/attempt-record.ts'
import type { HealthClient } from './routing/health-client.ts'
import type { UpstreamQuirks } from './routing/rejected-fields.ts'
import type { ModelMismatch, UnknownFinish } from './routing/served-response.ts'

/** One request, from the router to its bill. The router creates it; each phase sets the fields that it knows. */
export interface RequestContext {
  readonly id: string
  readonly response: ResponseWriter
  /** Headers of every response, such as the request's id. A replayed response has the id of the first request. */
  readonly commonHeaders: string[]
  /** Sent with every response, including errors; each phase adds to it. */
  readonly headers: string[]
  /** `null` until authenticated. */
  caller: Caller | null
  /** `performance.now()` when the whole request was received. */
  startedMs: number
  /** `null` until parsed. */
  request: CallerRequest | null
  /** `null` until it is known that the caller may use it. */
  model: PricedModel | null
  /** Models that may serve the request instead, none of them more expensive. */
  fallbacks: readonly PricedModel[]
  /** The claim of the caller's `Idempotency-Key`, if there is one. */
  claim: IdempotencyClaim | null
  /** If true, the relay writes the request's row and its line in the log. */
  isAdmitted: boolean
}

/** The context of a request that has been parsed, and whose caller may use the model. */
export interface RelayContext extends RequestContext {
  readonly caller: Caller
  readonly request: CallerRequest
  readonly model: PricedModel
}

/** What a call of an upstream needs. */
export interface AttemptDeps {
  readonly client: HttpClient
  /** The maximum size of a buffered response, and of an event. */
  readonly maxResponseBytes: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface RelayDeps extends AttemptDeps {
  readonly ledger: LedgerClient
  readonly storedResponses: StoredResponses
  readonly responsePins: Pick<ResponsePins, 'find' | 'add' | 'remove'>
  readonly responseItems: Pick<ResponseItems, 'isEnabled' | 'find' | 'add'>
  readonly sealer: Sealer
  readonly quirks: UpstreamQuirks
  readonly health: HealthClient
  readonly keepAliveMs: number
  /** A caller that reads nothing for this long is disconnected. */
  readonly slowClientMs: number
  readonly drain: DrainBounds
  readonly activeRequests: SlotMap<ActiveRequest>
  /** Called once per request, for its line in the log. */
  readonly logRequest: (line: RequestLogLine) => void
  /** Called instead when a stored response is replayed. */
  readonly onReplay: (context: RelayContext, requestId: string) => void
}

/** Bounds of draining: reading on for the bill after the caller has disconnected. */
export interface DrainBounds {
  readonly tokens: number
  readonly ms: number
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
  /** The response is not of the model that the route asks for. */
  readonly mismatch: ModelMismatch | null
  /** The response ended with a reason that its provider does not document. */
  readonly unknownFinish: UnknownFinish | null
}

/** A request that the relay can end when it shuts down. */
export interface ActiveRequest {
  end(endReason: EndReason): void
}
