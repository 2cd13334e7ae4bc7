/** The journal's hash chain, and the columns of the rows that a ledger commit writes. */

import { hash as hashOnce } from 'node:crypto'
import type { EntryRow, StoredResponseRow, OwnerRow, RequestRow } from './ledger-commit.ts'

export const chainGenesis: Uint8Array = new Uint8Array(32)

/** SHA-256 of the previous hash and the body. A row that is changed, removed or moved breaks every later hash. */
export function chainHash(previous: Uint8Array, body: string): Uint8Array {
  return hashOnce('sha256', Buffer.concat([previous, Buffer.from(body)]), 'buffer')
}

/** The head of the chain: the number and hash of the last commit. */
export interface ChainHead {
  readonly seq: number
  readonly hash: Uint8Array
}

export const entryColumns = [
  'at',
  'debit',
  'credit',
  'amount_nanos',
  'kind',
  'account_id',
  'ref',
  'reason',
  'source',
] as const satisfies (keyof EntryRow)[]

export const ownerColumns = [
  'id',
  'balance_nanos',
  'day_end',
  'day_spent_nanos',
  'day_requests',
  'month_end',
  'month_spent_nanos',
  'total_spent_nanos',
  'flags',
] as const satisfies (keyof OwnerRow)[]

export const requestColumns = [
  'request_id',
  'at',
  'account_id',
  'key_id',
  'model',
  'upstream_id',
  'http_status',
  'outcome',
  'stream',
  'finish',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'cost_nanos',
  'upstream_cost_nanos',
  'first_token_ms',
  'duration_ms',
  'attempts',
  'error_code',
  'hold_nanos',
  'price_version',
  'cache_write_tokens',
  'factor_ppm',
  'balance_nanos',
  'fault',
  'fault_upstream',
  'cache_write_1h_tokens',
  'count',
  'model_served',
  'provider_response_id',
  'fingerprint',
  'operation',
  'service_tier',
  'units',
] as const satisfies (keyof RequestRow)[]

export const storedResponseColumns = [
  'account_id',
  'key_hash',
  'body_hash',
  'request_id',
  'at',
  'cost_nanos',
  'answer',
] as const satisfies (keyof StoredResponseRow)[]
