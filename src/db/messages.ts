/** What threads say to the store thread and to a reading thread, and what they hear back. */

import type { MessagePort } from 'node:worker_threads'
import type { EntriesTable, KeptAnswersTable, OwnersTable, RequestsTable } from './schema/schema.ts'

export type Parameter = null | number | bigint | string | Uint8Array

export interface Statement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
  /** How many rows the statement has to change (or return, when it returns rows); else the batch is undone. */
  readonly expectChanges?: number
}

export type Row = Record<string, Parameter>

export interface StatementResult {
  readonly rows: Row[]
  readonly changes: number
}

/** A posting of the ledger; its number and its commit's are given when it is written. */
export type EntryRow = Omit<EntriesTable, 'id' | 'seq'>
export type OwnerRow = OwnersTable
export type RequestRow = Omit<RequestsTable, 'row_id'>
export type KeptRow = KeptAnswersTable

/** One group of ledger operations, durable as a whole or not at all. */
export interface LedgerCommit {
  /** One more than the commit before. */
  readonly seq: number
  readonly at: number
  /** JSON array of the events. */
  readonly journal: string
  readonly entries: readonly EntryRow[]
  /** Each owner's state after the commit. */
  readonly owners: readonly OwnerRow[]
  readonly requests: readonly RequestRow[]
  /** Answers kept by `Idempotency-Key`; most commits have none. */
  readonly kept?: readonly KeptRow[]
  /** The open holds after this commit, from which a start replays; the last two are kept. */
  readonly checkpoint?: { readonly holds: string }
}

/** A commit as it travels (packed-commit.ts): [seq, at, journal, rows as text, open holds, kept answers as they are]. */
export type PackedCommit = readonly [number, number, string, string, string | null, readonly KeptRow[] | null]

/**
 * `full`: nothing was written, the same may succeed later (disk full, database locked).
 * `failed`: the disk cannot be trusted (fsync, input/output, corruption); the process has to end.
 * `conflict`: nothing was written, a constraint or an expectation did not hold.
 * `invalid`: nothing was written, the statement itself is wrong; our bug.
 */
export type StoreErrorClass = 'full' | 'failed' | 'conflict' | 'invalid'

export interface StoreFailure {
  readonly class: StoreErrorClass
  readonly message: string
  /** The broken constraint as SQLite names it: a unique one by its column (`accounts.email_normalised`). */
  readonly constraint?: string
  /** Which statement of a batch did not meet its expectation or broke a constraint. */
  readonly statement?: number
}

export type StoreRequest =
  | { readonly id: number; readonly kind: 'write'; readonly statements: readonly Statement[] }
  | { readonly id: number; readonly kind: 'commit'; readonly commit: PackedCommit }

export interface ReaderRequest {
  readonly id: number
  readonly statement: Statement
}

export type Reply<Result> =
  | { readonly id: number; readonly result: Result }
  | { readonly id: number; readonly failure: StoreFailure }

/** What the main thread tells a thread of this room. */
export type ThreadOrder =
  | { readonly kind: 'connect'; readonly port: MessagePort }
  /** To the store thread: request rows are deleted when they are older than this. */
  | { readonly kind: 'keep'; readonly requestsMs: number }
  | { readonly kind: 'close' }

/** What a thread of this room tells the main thread. */
export type ThreadNotice =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly message: string }
  /** Request rows that were too old are deleted. */
  | { readonly kind: 'dropped'; readonly requests: number }
  | { readonly kind: 'failed'; readonly message: string }
