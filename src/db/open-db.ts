/** Opens the database of a worker: over ports to the store's threads (SQLite), or with PostgreSQL connection pools. */

import { connectDb, type DbPorts } from './sqlite/port-db.ts'
import type { WorkerDb } from './db.ts'

export type DbAccess = DbPorts | { readonly url: string; readonly name: string }

/** Opens the database for the thread that received `access`. */
export async function openDb(access: DbAccess): Promise<WorkerDb> {
  if (!('url' in access)) return connectDb(access)
  const { openPostgresDb } = await import('./postgres/postgres-db.ts')
  const db = openPostgresDb(access.url, access.name)
  // Reports have a connection of their own, and everything else is short.
  return { db, lookups: db }
}
