/** The rows of ledger commits, and the audit log: append-only, owned by db/. */
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

/** The result of a request with an `Idempotency-Key`, for 24 hours from its admission. */
export interface KeptAnswersTable {
  /** Or who called the admin API: an operator's id, `admin-api` or `command-line`. */
  account_id: string
  /** SHA-256 as base64url, as `body_hash` is. */
  key_hash: string
  body_hash: string
  request_id: string
  at: number
  cost_nanos: bigint
  /**
   * Sealed with the request's id; null if a crash interrupted it, if it is too large to store, or while a call of the
   * admin API is in progress.
   */
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

export interface LedgerTables {
  journal: JournalTable
  checkpoints: CheckpointsTable
  entries: EntriesTable
  owners: OwnersTable
  kept_answers: KeptAnswersTable
  audit: AuditTable
}
