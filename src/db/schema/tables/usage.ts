/** Request rows and their hourly sums: written with the ledger's commits, by db/ alone. */
import type { Generated } from 'kysely'

export type Outcome = 'ok' | 'refused' | 'failed' | 'truncated' | 'aborted' | 'ended'

export interface RequestsTable {
  /** Order of settlement; roll-ups and pages go by it. */
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
  /** null in rows from before it was kept; so are the next two. */
  cache_write_tokens: number | null
  /** Of them, those that the provider keeps for an hour. */
  cache_write_1h_tokens: number | null
  factor_ppm: number | null
  /** The account's after the charge. */
  balance_nanos: bigint | null
  /** Why no upstream has answered, as the last attempt tells it, and which one that was. */
  fault: string | null
  fault_upstream: string | null
}

/** What an account's request rows that are no longer kept had come to. */
export interface DroppedBillsTable {
  account_id: string
  /** Those that cost something. */
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
  /** Requests that were refused, failed or truncated. */
  errors: number
  prompt_tokens: number
  completion_tokens: number
  cost_nanos: bigint
  upstream_cost_nanos: bigint
}
