/** Request rows, written with the ledger's commits and owned by db/, and their hourly sums, owned by usage/. */
import type { Generated } from 'kysely'

export type Outcome = 'ok' | 'refused' | 'failed' | 'truncated' | 'aborted' | 'ended'

export interface RequestsTable {
  /** The order of settlement, used by roll-ups and pages. */
  row_id: Generated<number>
  request_id: string
  at: number
  account_id: string
  key_id: string
  model: string
  upstream_id: string | null
  http_status: number
  outcome: Outcome
  stream: 0 | 1
  finish: string | null
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  reasoning_tokens: number
  usage_source: 'provider' | 'estimate' | null
  cost_nanos: bigint
  upstream_cost_nanos: bigint | null
  first_token_ms: number | null
  duration_ms: number
  /** JSON array of the upstream attempts. */
  attempts: string
  error_code: string | null
  hold_nanos: bigint
  price_version: number | null
  /** null in rows from before it was recorded; likewise the next two. */
  cache_write_tokens: number | null
  /** Of these, the one-hour cache writes. */
  cache_write_1h_tokens: number | null
  factor_ppm: number | null
  /** The account's balance after the charge. */
  balance_nanos: bigint | null
  /** The error of the last upstream attempt if the request failed, and its upstream. */
  fault: string | null
  fault_upstream: string | null
  /** How many requests the row stands for: more than 1 only in rows of rejected requests. */
  count: number
  /** What the upstream says about its response: the model, its id, and the version of what served it. */
  model_served: string | null
  provider_response_id: string | null
  fingerprint: string | null
  /** What it asked for; null: it was rejected, or written by a release before 0.7. */
  operation: string | null
  /** The service tier that it was billed at; null: the default one. */
  service_tier: string | null
  /** JSON, as of providers/request-units.ts: what it used beside text tokens; null: nothing. */
  units: string | null
}

/** The sums of an account's deleted request rows. */
export interface DroppedBillsTable {
  account_id: string
  /** The number of rows with a cost. */
  bills: number
  cost_nanos: bigint
}

export interface UsageHourlyTable {
  /** The start of the hour, UTC. */
  hour: number
  account_id: string
  key_id: string
  model: string
  requests: number
  /** Failed requests, as defined in request-outcomes.ts. */
  errors: number
  prompt_tokens: number
  completion_tokens: number
  cost_nanos: bigint
  /** The known costs. */
  upstream_cost_nanos: bigint
  /** Requests at an unknown cost; null in hours before it was recorded, see usage/unknown-costs.ts. */
  unpriced_requests: number | null
}

/** A response that a provider stores for an account. */
export interface ResponsePinsTable {
  account_id: string
  /** The provider's id. */
  response_id: string
  upstream_id: string
  credential_id: string
  /** The requested model. */
  model: string
  /** Of its input and output: what a request that continues it adds to its own input. */
  tokens: number
  /** When it was settled, in milliseconds. */
  at: number
}

/** An item of a response, to which later requests of the account may refer. */
export interface ResponseItemsTable {
  account_id: string
  item_id: string
  /** When it was created or last referred to, in milliseconds. */
  used_at: number
  /** What it counts of the account's maximum. */
  bytes: number
  /** JSON, sealed with the item's id. */
  item: Uint8Array
}

export interface UsageTables {
  requests: RequestsTable
  dropped_bills: DroppedBillsTable
  response_pins: ResponsePinsTable
  response_items: ResponseItemsTable
  usage_hourly: UsageHourlyTable
}
