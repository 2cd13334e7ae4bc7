/** Snapshot reads: all queries of a read see the same state of the database. */

import type { Client } from 'pg'
import { readOnlyDb, statementDb, type Db } from '../db.ts'
import { openClient, runStatement } from './connection.ts'

const statementMs = 600_000
const beginText = `begin transaction isolation level repeatable read, read only;
  set local idle_in_transaction_session_timeout = 0`

/** Begins a snapshot on a connection. */
async function beginSnapshot(client: Client): Promise<Db> {
  await client.query(beginText)
  return readOnlyDb(statementDb((statement) => runStatement(client, statement)))
}

/** Runs `read` in one snapshot; it does not see concurrent writes. */
export async function readSnapshot<Result>(url: string, read: (db: Db) => Promise<Result>): Promise<Result> {
  const client = await openClient({ url, name: 'sluice snapshot', statementMs, readOnly: true })
  try {
    return await read(await beginSnapshot(client))
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Runs many snapshots, one after the other, over one connection, which is reopened after a failed read. Id ranges are
 * found by index, whatever the tables' statistics are.
 */
export class SnapshotReader implements AsyncDisposable {
  readonly #url: string
  readonly #name: string
  #client: Client | null = null

  /** `name`: shown in `pg_stat_activity`. */
  constructor(url: string, name: string) {
    this.#url = url
    this.#name = name
  }

  async read<Result>(read: (db: Db) => Promise<Result>): Promise<Result> {
    this.#client ??= await openClient({
      url: this.#url,
      name: this.#name,
      statementMs,
      readOnly: true,
      settings: '-c enable_seqscan=off',
    })
    const client = this.#client
    try {
      const result = await read(await beginSnapshot(client))
      await client.query('rollback')
      return result
    } catch (error) {
      await this[Symbol.asyncDispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => undefined)
  }
}

/** Returns the size of the database in bytes; a copy is smaller. */
export function readDatabaseSize(url: string): Promise<number> {
  return readSnapshot(url, async (db) => {
    const sql = 'select pg_database_size(current_database()) as bytes'
    const [row] = await db.report<{ bytes: number }>({ sql, parameters: [] })
    return row?.bytes ?? 0
  })
}
