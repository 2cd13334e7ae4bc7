/** What the columns of the tables are that get many rows at once, as the database calls it. */

import type { EntryRow, RequestRow } from '../messages.ts'

/** An open hold, or one whose node was retired: then `charged_nanos` is what it was charged. */
export interface HoldRow {
  readonly id: string
  readonly node: string
  /** The event that would make it again, as the journal has events. */
  readonly body: string
  readonly mark_input: number | null
  readonly mark_output: number | null
  readonly retired_at: number | null
  readonly charged_nanos: bigint | null
  /** The `Idempotency-Key` that nobody else may use while it is open. */
  readonly claim: string | null
}

type ColumnTypes<Shape> = {
  readonly [Column in keyof Shape]-?: Exclude<Shape[Column], null> extends string ? 'text' : 'bigint'
}

export const columnTypes: ColumnTypes<RequestRow & EntryRow & HoldRow & { readonly seq: number }> = {
  seq: 'bigint',
  at: 'bigint',
  account_id: 'text',
  request_id: 'text',
  key_id: 'text',
  model: 'text',
  upstream_id: 'text',
  http_status: 'bigint',
  outcome: 'text',
  stream: 'bigint',
  finish: 'text',
  prompt_tokens: 'bigint',
  cached_tokens: 'bigint',
  completion_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  usage_source: 'text',
  cost_nanos: 'bigint',
  upstream_cost_nanos: 'bigint',
  first_token_ms: 'bigint',
  duration_ms: 'bigint',
  attempts: 'text',
  error_code: 'text',
  hold_nanos: 'bigint',
  price_version: 'bigint',
  cache_write_tokens: 'bigint',
  factor_ppm: 'bigint',
  balance_nanos: 'bigint',
  fault: 'text',
  fault_upstream: 'text',
  cache_write_1h_tokens: 'bigint',
  debit: 'text',
  credit: 'text',
  amount_nanos: 'bigint',
  kind: 'text',
  ref: 'text',
  reason: 'text',
  source: 'text',
  id: 'text',
  node: 'text',
  body: 'text',
  mark_input: 'bigint',
  mark_output: 'bigint',
  retired_at: 'bigint',
  charged_nanos: 'bigint',
  claim: 'text',
}
