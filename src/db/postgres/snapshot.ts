/** Reads that see one moment of the whole database, however many there are. */

import { statementOf, type Db, type Query } from '../db.ts'
import { openClient, runOn } from './connect.ts'

const statementMs = 600_000

export interface Snapshots {
  /** Opens a connection for one moment; whatever is written meanwhile, `read` does not see it. */
  look<Result>(read: (db: Db) => Promise<Result>): Promise<Result>
}

export function openSnapshots(url: string): Snapshots {
  return {
    async look(read) {
      const client = await openClient({ url, name: 'sluice snapshot', statementMs, readOnly: true })
      const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
        // The schema and the integer rule of connect.ts make the query's type true.
        (await runOn(client, statementOf(query))).rows as Result[]
      try {
        await client.query('begin transaction isolation level repeatable read, read only')
        await client.query('set local idle_in_transaction_session_timeout = 0')
        return await read({
          all: rowsOf,
          report: rowsOf,
          first: async (query) => (await rowsOf(query))[0],
          write: () => Promise.reject(new Error('A snapshot is not written to.')),
        })
      } finally {
        await client.end().catch(() => undefined)
      }
    },
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
