/** Brings a database to this release's schema, one transaction for each migration, and refuses a newer one. */

import type { DatabaseSync } from 'node:sqlite'
import type { Migration } from '../migrations/migration.ts'
import { migrations } from '../migrations/0001-initial-schema.ts'
import { applicationId } from './connection.ts'

/** The schema's version; 0 for a database without one. */
export function schemaVersionOf(database: DatabaseSync): number {
  const table = database.prepare(`select 1 from sqlite_schema where name = 'schema_version'`).get()
  if (table === undefined) return 0
  return Number(
    database.prepare('select max(version) as version from schema_version').get()?.['version'] ?? 0,
  )
}

/** Throws when the file belongs to another program or to a newer release. Returns the version it has. */
export function checkSchema(database: DatabaseSync, known: readonly Migration[] = migrations): number {
  const owner = Number(database.prepare('pragma application_id').get()?.['application_id'])
  const tables = Number(database.prepare('select count(*) as tables from sqlite_schema').get()?.['tables'])
  if (owner !== applicationId && tables > 0) throw new Error('The database file belongs to another program.')
  const version = schemaVersionOf(database)
  const newest = known.at(-1)?.version ?? 0
  if (version > newest) {
    throw new Error(
      `The database has schema ${version}, made by a newer release; this one knows schemas up to ${newest}.`,
    )
  }
  return version
}

function apply(database: DatabaseSync, migration: Migration): void {
  database.exec('begin exclusive')
  try {
    database.exec(migration.ddl)
    database
      .prepare('insert into schema_version (version, name, applied_at) values (?, ?, ?)')
      .run(migration.version, migration.name, Date.now())
    const broken = database.prepare('pragma foreign_key_check').all()
    if (broken.length > 0)
      throw new Error(`Migration ${migration.version} leaves rows that point to nothing.`)
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Applies what is missing, in order. A failed migration leaves the version before it. */
export function migrate(database: DatabaseSync, list: readonly Migration[] = migrations): void {
  const version = checkSchema(database, list)
  database.exec(`
    pragma application_id = ${applicationId};
    create table if not exists schema_version (
      version integer primary key, name text not null, applied_at integer not null
    ) strict;
  `)
  for (const migration of list) {
    if (migration.version > version) apply(database, migration)
  }
}
