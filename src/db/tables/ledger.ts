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

export interface AuditTable {
  id: Generated<number>
  at: number
  actor: string
  action: string
  object: string
  /** JSON object. */
  detail: string
}
