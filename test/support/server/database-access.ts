/** Direct access to a relay's database, SQLite or PostgreSQL. */

import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'

import type { Db } from '../../../src/db/db.ts'
import { openClient } from '../../../src/db/postgres/connection.ts'
import { openPostgresDb } from '../../../src/db/postgres/postgres-db.ts'
import { openStore } from '../../../src/db/sqlite/store.ts'
import type { RelayProcess } from './relay-process.ts'

/** A bytea value as PostgreSQL prints it in a row. */
const hexBytes = /\\\\x([0-9a-f]*)/g
const hexToText = (_: string, hex: string): string => Buffer.from(hex, 'hex').toString('latin1')

/** Executes one statement that bypasses the relay. */
export async function executeSql({ databaseUrl, dataDir }: RelayProcess, statement: string): Promise<void> {
  if (databaseUrl === undefined) {
    const database = new DatabaseSync(join(dataDir, 'sluice.db'))
    database.exec(statement)
    database.close()
    return
  }
  const client = await openClient({ url: databaseUrl, name: 'test statement', statementMs: 20_000 })
  await client.query(statement)
  await client.end()
}

/** The whole content of the database as bytes: SQLite's files, or every row of every PostgreSQL table as text. */
export async function readDatabaseBytes({ databaseUrl, dataDir }: RelayProcess): Promise<Buffer> {
  if (databaseUrl === undefined) {
    const names = readdirSync(dataDir).filter((name) => /^sluice\.db(-wal)?$/.test(name))
    return Buffer.concat(names.map((name) => readFileSync(join(dataDir, name))))
  }
  const client = await openClient({ url: databaseUrl, name: 'test reader', statementMs: 20_000 })
  try {
    const tables = await client.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    )
    const parts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ line: string }>(`select each::text as line from ${name} as each`)
      parts.push(...rows.map(({ line }) => line.replaceAll(hexBytes, hexToText)))
    }
    return Buffer.from(parts.join('\n'), 'latin1')
  } finally {
    await client.end()
  }
}

/** Opens the database of a relay that is not running, to write what it might have written before it was killed. */
export async function openDatabase({
  databaseUrl,
  dataDir,
}: RelayProcess): Promise<{ readonly db: Db; close(): Promise<void> }> {
  if (databaseUrl === undefined) return openStore({ dataDir })
  const db = openPostgresDb(databaseUrl, 'tests')
  return { db, close: () => db.close() }
}
