/** Only `serve`, `restore` and `move` create a store: for all other commands, a folder without one is a wrong DATA_DIR. */

import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { findMissingDatabaseUrl, hasStore } from '../process/store-location.ts'
import { UsageError } from './output.ts'

/** Throws a UsageError unless the settings lead to a store. With DATABASE_URL, `checkCluster` looks into the database. */
export function requireStore(): void {
  const config = readConfig()
  if (hasStore(config)) return
  throw new UsageError(
    findMissingDatabaseUrl(config) ??
      `No database found in DATA_DIR (${resolve(config.dataDir)}), or this user cannot read it. Set DATA_DIR to the folder of the relay; the first start creates its database.`,
  )
}
