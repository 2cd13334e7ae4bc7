/** Reading the ledger back: what a start replays, and the whole chain for whoever verifies it. */

import { chainHash, chainStart } from './journal.ts'
import type { Db } from './db.ts'
import type { CheckpointsTable, JournalTable, OwnersTable } from './schema/schema.ts'
import { sql } from './schema/schema.ts'

const pageRows = 1000

export interface LedgerState {
  /** The number of the last commit; the next is one more. */
  readonly lastSeq: number
  readonly checkpoint: CheckpointsTable | undefined
  /** The commits after the checkpoint, oldest first; `body` is the JSON array of events. */
  readonly journal: readonly Pick<JournalTable, 'seq' | 'at' | 'body'>[]
  readonly owners: readonly OwnersTable[]
}

/** The journal's chain does not hold: rows were changed, removed or added behind the ledger's back. */
export class ChainError extends Error {
  readonly seq: number

  constructor(seq: number) {
    super(`The ledger's journal is broken at commit ${seq}: its hash does not follow from the commit before.`)
    this.name = 'ChainError'
    this.seq = seq
  }
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}

/** The journal after a commit, in order and checked against its chain. Throws ChainError at the first broken row. */
export async function* journalAfter(db: Db, after: number): AsyncGenerator<JournalTable> {
  const query = sql.selectFrom('journal').selectAll().orderBy('seq').limit(pageRows)
  let seq = after
  let hash = after === 0 ? chainStart : undefined
  for (;;) {
    const page = await db.report(query.where('seq', '>', seq))
    for (const row of page) {
      // A first row after a checkpoint is linked by its number and its own hash; the rows before are not read.
      const linked = row.seq === seq + 1 && (hash === undefined || same(row.prev, hash))
      if (!linked || !same(row.hash, chainHash(row.prev, row.body))) throw new ChainError(row.seq)
      seq = row.seq
      hash = row.hash
      yield row
    }
    if (page.length < pageRows) return
  }
}

/** The last checkpoint, the journal since, and every owner as of the last commit. */
export async function readLedger(db: Db): Promise<LedgerState> {
  const checkpoint = await db.first(sql.selectFrom('checkpoints').selectAll().orderBy('seq', 'desc').limit(1))
  const journal: Pick<JournalTable, 'seq' | 'at' | 'body'>[] = []
  for await (const { seq, at, body } of journalAfter(db, checkpoint?.seq ?? 0))
    journal.push({ seq, at, body })
  const owners = await db.all(sql.selectFrom('owners').selectAll())
  return { lastSeq: journal.at(-1)?.seq ?? checkpoint?.seq ?? 0, checkpoint, journal, owners }
}
