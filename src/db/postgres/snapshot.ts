/** Reads that see one moment of the whole database, however many there are. */

import type { Client } from 'pg'
import { statementOf, type Db, type Query } from '../db.ts'
import { openClient, runOn } from './connection.ts'

const statementMs = 600_000
const beginText = `begin transaction isolation level repeatable read, read only;
  set local idle_in_transaction_session_timeout = 0`

export interface Snapshots {
  /** Opens a connection for one moment; whatever is written meanwhile, `read` does not see it. */
  look<Result>(read: (db: Db) => Promise<Result>): Promise<Result>
}

/** Begins the moment. */
async function momentOn(client: Client): Promise<Db> {
  const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
    // The schema and the integer rule of connect.ts make the query's type true.
    (await runOn(client, statementOf(query))).rows as Result[]
  await client.query(beginText)
  return {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    write: () => Promise.reject(new Error('A snapshot is not written to.')),
  }
}

export function openSnapshots(url: string): Snapshots {
  return {
    async look(read) {
      const client = await openClient({ url, name: 'sluice snapshot', statementMs, readOnly: true })
      try {
        return await read(await momentOn(client))
      } finally {
        await client.end().catch(() => undefined)
      }
    },
  }
}

/**
 * Many moments, one after the other, over one connection, which is opened anew after a look that has failed. Ranges of
 * numbers are found by their index, whatever the tables' statistics are.
 */
export class Moments implements Snapshots {
  readonly #url: string
  readonly #name: string
  #client: Client | null = null

  /** `name`: shown in `pg_stat_activity`. */
  constructor(url: string, name: string) {
    this.#url = url
    this.#name = name
  }

  async look<Result>(read: (db: Db) => Promise<Result>): Promise<Result> {
    this.#client ??= await openClient({
      url: this.#url,
      name: this.#name,
      statementMs,
      readOnly: true,
      settings: '-c enable_seqscan=off',
    })
    const client = this.#client
    try {
      const result = await read(await momentOn(client))
      await client.query('rollback')
      return result
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => undefined)
  }
}

/** How much room the database takes; its copy takes less. */
export function databaseBytes(url: string): Promise<number> {
  return openSnapshots(url).look(async (db) => {
    const sql = 'select pg_database_size(current_database()) as bytes'
    const [row] = await db.report<{ bytes: number }>({ sql, parameters: [] })
    return row?.bytes ?? 0
  })
}
