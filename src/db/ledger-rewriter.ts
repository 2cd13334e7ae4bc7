/** Rewrites rows of the ledger, which is append-only otherwise: for repairs while no relay uses the database. */
import type { Db } from './db.ts'

export interface RewrittenCommit {
  readonly seq: number
  /** null: unchanged. */
  readonly body: string | null
  readonly prev: Uint8Array
  readonly hash: Uint8Array
}

export interface RewrittenEntry {
  readonly id: number
  readonly ref: string | null
  readonly reason: string | null
}

/** Writes in one transaction, which `db` reads. */
export interface LedgerRewriter {
  readonly db: Db
  updateCommits(commits: readonly RewrittenCommit[]): Promise<void>
  updateEntry(entry: RewrittenEntry): Promise<void>
}

/** The triggers that reject changes of the rewritten columns. */
export const appendOnlyTriggers = [
  { table: 'journal', trigger: 'journal_stays' },
  { table: 'entries', trigger: 'entries_stay' },
] as const
