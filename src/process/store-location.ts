/** Which store belongs to a data directory: its own SQLite database, or, for a node of a cluster, PostgreSQL. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { localJournalFileName } from '../db/sqlite/local-journal.ts'
import { databaseFileName } from '../db/sqlite/store.ts'

type StoreLocation = Pick<Config, 'dataDir' | 'databaseUrl'>

export function hasStore({ databaseUrl, dataDir }: StoreLocation): boolean {
  return databaseUrl !== null || existsSync(join(dataDir, databaseFileName))
}

/** The directory of a node without its DATABASE_URL, from which an empty relay would start; `null` otherwise. */
export function findMissingDatabaseUrl(location: StoreLocation): string | null {
  const { dataDir } = location
  if (hasStore(location) || !existsSync(join(dataDir, localJournalFileName))) return null
  return (
    `${dataDir} belongs to a node of a cluster (it contains ${localJournalFileName}), but DATABASE_URL is not set. ` +
    'Set DATABASE_URL to the database of the cluster, or DATA_DIR to another folder.'
  )
}
