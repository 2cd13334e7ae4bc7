/** Reads the ledger: the state from which recovery starts, and the whole journal for verification. */

import { chainHash, chainGenesis } from './journal.ts'
import type { Db } from './db.ts'
import type { CheckpointsTable, JournalTable, OwnersTable } from './schema/schema.ts'
import { sql } from './schema/schema.ts'

const pageRows = 1000

export interface LedgerState {
  /** The number of the last commit. */
  readonly lastSeq: number
  readonly checkpoint: CheckpointsTable | undefined
  /** The commits after the checkpoint, oldest first; `body` is the JSON array of events. */
  readonly journal: readonly Pick<JournalTable, 'seq' | 'at' | 'body'>[]
  readonly owners: readonly OwnersTable[]
}

/** The journal's hash chain is broken: rows were changed, removed or added from outside. */
export class JournalChainError extends Error {
  readonly seq: number

  constructor(seq: number) {
    super(`The ledger's journal is broken at commit ${seq}: its hash does not match the previous commit.`)
    this.name = 'JournalChainError'
    this.seq = seq
  }
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}

/** Yields the journal after a commit in order, verifying its hash chain. Throws JournalChainError at the first broken row. */
export async function* readJournalAfter(db: Db, after: number): AsyncGenerator<JournalTable> {
  const query = sql.selectFrom('journal').selectAll().orderBy('seq').limit(pageRows)
  let seq = after
  let hash = after === 0 ? chainGenesis : undefined
  for (;;) {
    const page = await db.report(query.where('seq', '>', seq))
    for (const row of page) {
      // The first row after a checkpoint is verified by its number and its own hash; earlier rows are not read.
      const isLinked = row.seq === seq + 1 && (hash === undefined || equalBytes(row.prev, hash))
      if (!isLinked || !equalBytes(row.hash, chainHash(row.prev, row.body)))
        throw new JournalChainError(row.seq)
      seq = row.seq
      hash = row.hash
      yield row
    }
    if (page.length < pageRows) return
  }
}

/** Reads the last checkpoint, the journal since then, and every owner as of the last commit. */
export async function readLedger(db: Db): Promise<LedgerState> {
  const checkpoint = await db.first(sql.selectFrom('checkpoints').selectAll().orderBy('seq', 'desc').limit(1))
  const journal: Pick<JournalTable, 'seq' | 'at' | 'body'>[] = []
  for await (const { seq, at, body } of readJournalAfter(db, checkpoint?.seq ?? 0))
    journal.push({ seq, at, body })
  const owners = await db.all(sql.selectFrom('owners').selectAll())
  return { lastSeq: journal.at(-1)?.seq ?? checkpoint?.seq ?? 0, checkpoint, journal, owners }
}
