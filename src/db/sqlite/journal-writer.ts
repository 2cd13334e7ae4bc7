/** Writes ledger commits: a journal row, chained to the previous row by its hash, and the rows derived from it. */

import type { StatementSync } from 'node:sqlite'
import {
  chainGenesis,
  chainHash,
  entryColumns,
  ownerColumns,
  requestColumns,
  storedResponseColumns,
  type ChainHead,
} from '../journal.ts'
import type { Parameter } from '../statement.ts'
import { StoreError } from '../store-error.ts'
import type { Connection } from './connection.ts'

const maxCheckpoints = 2

function insertSql(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
}

function upsertSql(table: string, columns: readonly string[], keys: readonly string[]): string {
  const updated = columns.filter((column) => !keys.includes(column))
  const sets = updated.map((column) => `${column} = excluded.${column}`)
  return `${insertSql(table, columns)} on conflict (${keys.join(', ')}) do update set ${sets.join(', ')}`
}

/** Reads the head of the chain: the last journal row, or the genesis. */
export function readChainHead(connection: Connection): ChainHead {
  const row = connection.database.prepare('select seq, hash from journal order by seq desc limit 1').get()
  if (row === undefined) return { seq: 0, hash: chainGenesis }
  const hash = row['hash']
  if (!(hash instanceof Uint8Array)) throw new Error('A journal row has no hash.')
  return { seq: Number(row['seq']), hash }
}

/** A commit as parameters of its statements: the values of each row in the order of the columns in journal.ts. */
export interface CommitValues {
  readonly seq: number
  readonly at: number
  readonly journal: string
  readonly entries: readonly Parameter[][]
  readonly owners: readonly Parameter[][]
  readonly requests: readonly Parameter[][]
  readonly storedResponses: readonly Parameter[][]
  /** The open holds, if this commit is a checkpoint. */
  readonly holds: string | null
}

/** Writes commits in the caller's transaction. */
export class JournalWriter {
  readonly #journal: StatementSync
  readonly #entry: StatementSync
  readonly #owner: StatementSync
  readonly #request: StatementSync
  readonly #storedResponse: StatementSync
  readonly #checkpoint: StatementSync
  readonly #deleteOldCheckpoints: StatementSync

  constructor({ database }: Connection) {
    this.#journal = database.prepare(insertSql('journal', ['seq', 'at', 'body', 'prev', 'hash']))
    this.#entry = database.prepare(insertSql('entries', ['seq', ...entryColumns]))
    this.#owner = database.prepare(upsertSql('owners', ownerColumns, ['id']))
    this.#request = database.prepare(insertSql('requests', requestColumns))
    // Replaces an expired one.
    this.#storedResponse = database.prepare(
      upsertSql('kept_answers', storedResponseColumns, ['account_id', 'key_hash']),
    )
    this.#checkpoint = database.prepare(insertSql('checkpoints', ['seq', 'at', 'holds']))
    this.#deleteOldCheckpoints = database.prepare(
      `delete from checkpoints where seq not in (select seq from checkpoints order by seq desc limit ${maxCheckpoints})`,
    )
  }

  /** Writes one commit after `head` and returns the new head. A commit with another number than the next is a conflict. */
  write(commit: CommitValues, head: ChainHead): ChainHead {
    if (commit.seq !== head.seq + 1) {
      const message = `Ledger commit ${commit.seq} does not follow ${head.seq}.`
      throw new StoreError({ class: 'conflict', message })
    }
    const hash = chainHash(head.hash, commit.journal)
    this.#journal.run(commit.seq, commit.at, commit.journal, head.hash, hash)
    for (const values of commit.entries) this.#entry.run(commit.seq, ...values)
    for (const values of commit.owners) this.#owner.run(...values)
    for (const values of commit.requests) this.#request.run(...values)
    for (const values of commit.storedResponses) this.#storedResponse.run(...values)
    if (commit.holds !== null) {
      this.#checkpoint.run(commit.seq, commit.at, commit.holds)
      this.#deleteOldCheckpoints.run()
    }
    return { seq: commit.seq, hash }
  }
}
