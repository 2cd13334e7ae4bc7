/** The rows that a commit of the ledger writes, and the audit log: append-only, written by db/ alone. */
import type { Generated } from 'kysely'

export interface JournalTable {
  seq: number
  at: number
  /** JSON array of the commit's events. */
  body: string
  prev: Uint8Array
  /** SHA-256 of `prev` and `body`. */
  hash: Uint8Array
}

export interface CheckpointsTable {
  seq: number
  at: number
  holds: string
}

export interface EntriesTable {
  id: Generated<number>
  seq: number
  at: number
  debit: string
  credit: string
  amount_nanos: bigint
  kind: string
  account_id: string | null
  ref: string | null
  reason: string | null
  source: string | null
}

export interface OwnersTable {
  /** `a:acc_…` or `k:key_…`. */
  id: string
  balance_nanos: bigint
  day_end: number
  day_spent_nanos: bigint
  day_requests: number
  month_end: number
  month_spent_nanos: bigint
  total_spent_nanos: bigint
  flags: number
}

/** What a request under an `Idempotency-Key` came to, for 24 hours from its admission. */
export interface KeptAnswersTable {
  account_id: string
  /** SHA-256 as base64url, as `body_hash` is. */
  key_hash: string
  body_hash: string
  request_id: string
  at: number
  cost_nanos: bigint
  /** Sealed with the request's id; null where it was cut off by a crash, or is too large to keep. */
  answer: Uint8Array | null
}

export interface AuditTable {
  id: Generated<number>
  at: number
  actor: string
  action: string
  object: string
  /** JSON object. */
  detail: string
}
