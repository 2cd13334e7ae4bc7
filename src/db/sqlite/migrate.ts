/** Migrates a SQLite database to this release's schema, one transaction per migration, and rejects a newer schema. */

import type { DatabaseSync } from 'node:sqlite'
import type { Migration } from '../migrations/migration.ts'
import { migrations } from '../migrations/migrations.ts'
import { applicationId } from './connection.ts'

/** Reads the schema's version; 0 for an empty database. */
export function readSchemaVersion(database: DatabaseSync): number {
  const table = database.prepare(`select 1 from sqlite_schema where name = 'schema_version'`).get()
  if (table === undefined) return 0
  return Number(
    database.prepare('select max(version) as version from schema_version').get()?.['version'] ?? 0,
  )
}

/** Returns the schema's version. Throws if the file belongs to another program or to a newer release. */
export function checkSchema(database: DatabaseSync, known: readonly Migration[] = migrations): number {
  const owner = Number(database.prepare('pragma application_id').get()?.['application_id'])
  const tables = Number(database.prepare('select count(*) as tables from sqlite_schema').get()?.['tables'])
  if (owner !== applicationId && tables > 0) throw new Error('The database file belongs to another program.')
  const version = readSchemaVersion(database)
  const newest = known.at(-1)?.version ?? 0
  if (version > newest) {
    throw new Error(
      `The database has schema ${version}, made by a newer release; this release supports schemas up to ${newest}.`,
    )
  }
  return version
}

function applyMigration(database: DatabaseSync, migration: Migration): void {
  database.exec('begin exclusive')
  try {
    database.exec(migration.ddl)
    database
      .prepare('insert into schema_version (version, name, applied_at) values (?, ?, ?)')
      .run(migration.version, migration.name, Date.now())
    const broken = database.prepare('pragma foreign_key_check').all()
    if (broken.length > 0) throw new Error(`Migration ${migration.version} leaves broken foreign keys.`)
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Applies the missing migrations in order. A failed migration is rolled back and leaves the previous version. */
export function migrateSqlite(database: DatabaseSync, list: readonly Migration[] = migrations): void {
  const version = checkSchema(database, list)
  database.exec(`
    pragma application_id = ${applicationId};
    create table if not exists schema_version (
      version integer primary key, name text not null, applied_at integer not null
    ) strict;
  `)
  for (const migration of list) {
    if (migration.version > version) applyMigration(database, migration)
  }
}
