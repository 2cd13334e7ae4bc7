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

/** `updateHashes` does so for commits of any number. */
export function createRewriter(
  db: Db,
  updateHashes: (commits: readonly RewrittenCommit[]) => Promise<unknown>,
): LedgerRewriter {
  return {
    db,
    async updateCommits(commits) {
      await updateHashes(commits)
      const text = 'update journal set body = ? where seq = ?'
      const changed = commits.flatMap(({ seq, body }) => (body === null ? [] : [{ seq, body }]))
      await db.write(...changed.map(({ seq, body }) => ({ sql: text, parameters: [body, seq] })))
    },
    async updateEntry({ id, ref, reason }) {
      await db.write({
        sql: 'update entries set ref = ?, reason = ? where id = ?',
        parameters: [ref, reason, id],
      })
    },
  }
}

/** The triggers that reject changes of the rewritten columns. */
export const appendOnlyTriggers = [
  { table: 'journal', trigger: 'journal_stays' },
  { table: 'entries', trigger: 'entries_stay' },
] as const
