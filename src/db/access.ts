/** How a thread comes to its Db: by ports to the store's threads, or by connections of its own to PostgreSQL. */

import { connectDb, type Db, type DbPorts } from './db.ts'
import { openPostgresDb } from './postgres/db.ts'

export type DbAccess = DbPorts | { readonly url: string; readonly name: string }

/** The Db of the thread that was given the access. */
export function openAccess(access: DbAccess): Db {
  return 'url' in access ? openPostgresDb(access.url, access.name) : connectDb(access)
}
