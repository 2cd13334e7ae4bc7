/** The messages between the main thread, the store thread and the reading threads. */

import type { MessagePort } from 'node:worker_threads'
import type { StoredResponseRow } from '../ledger-commit.ts'
import type { Statement } from '../statement.ts'
import type { StoreFailure } from '../store-error.ts'

/** A commit as packed by packed-commit.ts: [seq, at, journal, rows as text, open holds, stored responses]. */
export type PackedCommit = readonly [
  number,
  number,
  string,
  string,
  string | null,
  readonly StoredResponseRow[] | null,
]

export type StoreRequest =
  | { readonly id: number; readonly kind: 'write'; readonly statements: readonly Statement[] }
  | { readonly id: number; readonly kind: 'commit'; readonly commit: PackedCommit }

export interface ReaderRequest {
  readonly id: number
  readonly statement: Statement
  /** Whose query it is, for the order of queries (fair-queue.ts). */
  readonly owner: string
}

export type ThreadResponse<Result> =
  | { readonly id: number; readonly result: Result }
  | { readonly id: number; readonly failure: StoreFailure }

/** What the store thread is started with. */
export interface StoreThreadData {
  /** The path of the database. */
  readonly path: string
  /** The URL of a module that exports `maintenanceSteps`; null: none. */
  readonly maintenanceModule: string | null
}

/** A request of the main thread to a store thread. */
export type StoreThreadRequest =
  | { readonly kind: 'connect'; readonly port: MessagePort }
  /** To the store thread: delete request rows older than this. */
  | { readonly kind: 'retain'; readonly requestsMs: number }
  | { readonly kind: 'close' }

/** An event of a store thread to the main thread. */
export type StoreThreadEvent =
  | { readonly kind: 'ready' }
  | { readonly kind: 'startFailed'; readonly message: string }
  /** Old request rows were deleted. */
  | { readonly kind: 'requestsDeleted'; readonly requests: number }
  | { readonly kind: 'failed'; readonly message: string }
