/**
 * Migrates a PostgreSQL database to this release's schema, one transaction per migration and one node at a time; nodes
 * that start meanwhile wait. A newer schema is rejected.
 */

import type { Client } from 'pg'
import type { Migration } from '../migrations/migration.ts'
import { migrations } from '../migrations/migrations.ts'
import { openClient, queryValue } from './connection.ts'
import { unfinishedMoveMessage } from '../transfer/move-marker.ts'
import { migrationLock } from './advisory-locks.ts'
import { quoteLiteral, toPostgresDdl } from './sql-text.ts'

const migrationTimeoutMs = 3_600_000

async function readSchemaVersion(client: Client): Promise<number> {
  if ((await queryValue(client, `select to_regclass('schema_version')`)) === undefined) return 0
  return Number((await queryValue(client, 'select max(version) from schema_version')) ?? 0)
}

/** Returns the schema's version. Throws if the database is of a newer release, or has tables of another program. */
export async function checkSchema(client: Client, list: readonly Migration[]): Promise<number> {
  const version = await readSchemaVersion(client)
  const newest = list.at(-1)?.version ?? 0
  if (version > newest) {
    throw new Error(
      `The database of DATABASE_URL has schema ${version}, made by a newer release; this release supports schemas up to ${newest}.`,
    )
  }
  if (version > 0) return version
  const count = `select count(*) from pg_catalog.pg_tables where schemaname = current_schema() and tablename not in ('schema_version', 'moving')`
  if (Number(await queryValue(client, count)) > 0)
    throw new Error('The database of DATABASE_URL belongs to another program.')
  return 0
}

async function applyMigration(client: Client, migration: Migration): Promise<void> {
  const ddl = migration.postgres ?? toPostgresDdl(migration.ddl)
  const record = [migration.version, migration.name, Date.now()].map(quoteLiteral).join(', ')
  await client.query(
    `begin; ${ddl}; insert into schema_version (version, name, applied_at) values (${record}); commit`,
  )
}

/** Applies the missing migrations in order; the caller must hold the migration lock. A failed migration leaves the previous version. */
export async function runMigrations(client: Client, list: readonly Migration[]): Promise<void> {
  const version = await checkSchema(client, list)
  await client.query(
    `create table if not exists schema_version (version bigint primary key, name text not null, applied_at bigint not null)`,
  )
  for (const migration of list) {
    if (migration.version > version) await applyMigration(client, migration)
  }
}

/** Migrates the database, or waits until another node has. Throws if a move into the database is not finished. */
export async function migratePostgres(url: string, list: readonly Migration[] = migrations): Promise<void> {
  const client = await openClient({ url, name: 'sluice migration', statementMs: migrationTimeoutMs })
  try {
    await client.query(migrationLock)
    // The table `moving` remains if a move was interrupted.
    if ((await queryValue(client, `select to_regclass('moving')`)) !== undefined)
      throw new Error(unfinishedMoveMessage)
    await runMigrations(client, list)
  } finally {
    await client.end()
  }
}
