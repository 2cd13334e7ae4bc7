/** What somebody can do who has the database itself, whichever kind the relay stands on. */

import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'

import type { Db } from '../../../src/db/db.ts'
import { openClient } from '../../../src/db/postgres/connection.ts'
import { openPostgresDb } from '../../../src/db/postgres/postgres-db.ts'
import { openStore } from '../../../src/db/store.ts'
import type { RelayProcess } from './relay-process.ts'

/** Bytes as PostgreSQL writes them in a row. */
const hexBytes = /\\\\x([0-9a-f]*)/g
const textOfHex = (_: string, hex: string): string => Buffer.from(hex, 'hex').toString('latin1')

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

/** Everything that its database holds, as bytes: the files, or each row of each table as PostgreSQL writes it. */
export async function bytesInDatabase({ databaseUrl, dataDir }: RelayProcess): Promise<Buffer> {
  if (databaseUrl === undefined) {
    const names = readdirSync(dataDir).filter((name) => /^sluice\.db(-wal)?$/.test(name))
    return Buffer.concat(names.map((name) => readFileSync(join(dataDir, name))))
  }
  const client = await openClient({ url: databaseUrl, name: 'reading', statementMs: 20_000 })
  try {
    const tables = await client.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    )
    const parts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ line: string }>(`select each::text as line from ${name} as each`)
      parts.push(...rows.map(({ line }) => line.replaceAll(hexBytes, textOfHex)))
    }
    return Buffer.from(parts.join('\n'), 'latin1')
  } finally {
    await client.end()
  }
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
