/**
 * Brings a PostgreSQL database to this release's schema, one transaction for each migration, one node at a time:
 * others that start meanwhile wait, and find it done. A newer schema is refused.
 */

import type { Client } from 'pg'
import type { Migration } from '../migrations/migration.ts'
import { migrations } from '../migrations/0001-initial-schema.ts'
import { openClient, runTexts } from './connection.ts'
import { unfinishedWords } from '../transfer/move-marker.ts'
import { migrationLock } from './advisory-locks.ts'
import { literalOf, postgresDdl } from './sql-text.ts'

const migrationMs = 3_600_000

async function versionOf(client: Client): Promise<number> {
  const [found = []] = await runTexts(client, `select to_regclass('schema_version') is null as absent`)
  if (String(found[0]?.['absent']) === 'true') return 0
  const [rows = []] = await runTexts(client, 'select max(version) as version from schema_version')
  return Number(rows[0]?.['version'] ?? 0)
}

/** Throws when the database is of a newer release, or has tables of somebody else. Returns the version it has. */
export async function checkSchema(client: Client, list: readonly Migration[]): Promise<number> {
  const version = await versionOf(client)
  const newest = list.at(-1)?.version ?? 0
  if (version > newest) {
    throw new Error(
      `The database of DATABASE_URL has schema ${version}, made by a newer release; this one knows schemas up to ${newest}.`,
    )
  }
  if (version > 0) return version
  const count = `select count(*) as tables from pg_catalog.pg_tables where schemaname = current_schema() and tablename not in ('schema_version', 'moving')`
  const [rows = []] = await runTexts(client, count)
  if (Number(rows[0]?.['tables']) > 0)
    throw new Error('The database of DATABASE_URL belongs to another program.')
  return 0
}

async function apply(client: Client, migration: Migration): Promise<void> {
  const ddl = migration.postgres ?? postgresDdl(migration.ddl)
  const record = [migration.version, migration.name, Date.now()].map(literalOf).join(', ')
  await client.query(
    `begin; ${ddl}; insert into schema_version (version, name, applied_at) values (${record}); commit`,
  )
}

/** Applies what is missing, in order, for whoever has the migration lock. A failed migration leaves the version before it. */
export async function runMigrations(client: Client, list: readonly Migration[]): Promise<void> {
  const version = await checkSchema(client, list)
  await client.query(
    `create table if not exists schema_version (version bigint primary key, name text not null, applied_at bigint not null)`,
  )
  for (const migration of list) {
    if (migration.version > version) await apply(client, migration)
  }
}

/** A move that was cut off has left the table of its marks. */
async function checkWhole(client: Client): Promise<void> {
  const [rows = []] = await runTexts(client, `select to_regclass('moving') is null as whole`)
  if (String(rows[0]?.['whole']) === 'true') return
  throw new Error(unfinishedWords)
}

/** Brings it up to date, or waits until another has. Throws where a move into it is not finished. */
export async function migratePostgres(url: string, list: readonly Migration[] = migrations): Promise<void> {
  const client = await openClient({ url, name: 'sluice migration', statementMs: migrationMs })
  try {
    await client.query(migrationLock)
    await checkWhole(client)
    await runMigrations(client, list)
  } finally {
    await client.end()
  }
}
