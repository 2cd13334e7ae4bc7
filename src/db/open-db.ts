/** Opens the database of a thread: over ports to the store's threads (SQLite), or with a PostgreSQL connection pool. */

import { connectDb, type DbPorts } from './sqlite/port-db.ts'
import type { Db } from './db.ts'

export type DbAccess = DbPorts | { readonly url: string; readonly name: string }

/** Opens the database for the thread that received `access`. */
export async function openDb(access: DbAccess): Promise<Db> {
  if (!('url' in access)) return connectDb(access)
  const { openPostgresDb } = await import('./postgres/postgres-db.ts')
  return openPostgresDb(access.url, access.name)
}
