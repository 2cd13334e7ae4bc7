/** How a thread comes to its Db: by ports to the store's threads, or by connections of its own to PostgreSQL. */

import { connectDb, type Db, type DbPorts } from './db.ts'

export type DbAccess = DbPorts | { readonly url: string; readonly name: string }

/** The Db of the thread that was given the access. */
export async function openAccess(access: DbAccess): Promise<Db> {
  if (!('url' in access)) return connectDb(access)
  const { openPostgresDb } = await import('./postgres/postgres-db.ts')
  return openPostgresDb(access.url, access.name)
}
