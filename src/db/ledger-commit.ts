/** A commit of the ledger as the rows that it writes. */

import type { EntriesTable, KeptAnswersTable, OwnersTable, RequestsTable } from './schema/schema.ts'

/** A ledger entry; its id and its commit's number are assigned when it is written. */
export type EntryRow = Omit<EntriesTable, 'id' | 'seq'>
export type OwnerRow = OwnersTable
export type RequestRow = Omit<RequestsTable, 'row_id'>
export type StoredResponseRow = KeptAnswersTable

/** A group of ledger operations that is committed atomically. */
export interface LedgerCommit {
  /** The previous commit's number plus one. */
  readonly seq: number
  readonly at: number
  /** JSON array of the events. */
  readonly journal: string
  readonly entries: readonly EntryRow[]
  /** Each owner's state after the commit. */
  readonly owners: readonly OwnerRow[]
  readonly requests: readonly RequestRow[]
  /** Responses stored by `Idempotency-Key`; most commits have none. */
  readonly storedResponses?: readonly StoredResponseRow[]
  /** The open holds after this commit, from which recovery replays the journal; the last two checkpoints are kept. */
  readonly checkpoint?: { readonly holds: string }
}
