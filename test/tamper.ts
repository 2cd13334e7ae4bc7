/** What somebody can do who has the database itself, whichever kind the relay stands on. */

import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'

import type { Db } from '../src/db/db.ts'
import { openClient } from '../src/db/postgres/connect.ts'
import { openPostgresDb } from '../src/db/postgres/db.ts'
import { openStore } from '../src/db/store.ts'
import type { RelayProcess } from './relay-process.ts'

/** Runs one statement behind the relay's back. */
export async function tamperWith({ databaseUrl, dataDir }: RelayProcess, statement: string): Promise<void> {
  if (databaseUrl === undefined) {
    const database = new DatabaseSync(join(dataDir, 'sluice.db'))
    database.exec(statement)
    database.close()
    return
  }
  const client = await openClient({ url: databaseUrl, name: 'tampering', statementMs: 20_000 })
  await client.query(statement)
  await client.end()
}

/** Its database, for a relay that does not run: what it might have done before it was killed is done with it. */
export async function openDatabaseOf({
  databaseUrl,
  dataDir,
}: RelayProcess): Promise<{ readonly db: Db; close(): Promise<void> }> {
  if (databaseUrl === undefined) return openStore({ dataDir })
  const db = openPostgresDb(databaseUrl, 'tests')
  return { db, close: () => db.close() }
}
