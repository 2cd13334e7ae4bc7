import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { migrate, schemaVersionOf } from './sqlite/migrate.ts'
import { migrations } from './migrations/0001-initial-schema.ts'
import { owners } from './schema/schema.ts'
import { checkSqliteRelease, openWriter } from './sqlite/connection.ts'
import { temporaryDir } from './store.fixture.ts'
import { databaseFileName, openStore } from './store.ts'

function emptyDatabase(t: TestContext): DatabaseSync {
  const connection = openWriter(join(temporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  return connection.database
}

test('an empty file gets the newest schema, and a second start changes nothing', (t) => {
  const database = emptyDatabase(t)
  migrate(database)
  const first = database.prepare('select * from sqlite_schema').all()
  migrate(database)
  assert.deepEqual(database.prepare('select * from sqlite_schema').all(), first)
  assert.equal(schemaVersionOf(database), migrations.at(-1)?.version)
})

test('the types name exactly the tables that the migrations make', (t) => {
  const database = emptyDatabase(t)
  migrate(database)
  const tables = database
    .prepare(
      `select name from pragma_table_list where schema = 'main' and name not like 'sqlite_%' and strict = 1`,
    )
    .all()
    .map((row) => String(row['name']))
  assert.deepEqual(tables.toSorted(), [...Object.keys(owners), 'schema_version'].toSorted())
})

test('money columns end in _nanos and nothing else of the schema is larger than a number', (t) => {
  const database = emptyDatabase(t)
  migrate(database)
  const columns = database
    .prepare(
      `select m.name as tab, c.name as col, c.type from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table'`,
    )
    .all()
  assert.ok(
    columns.every(
      (column) =>
        !/amount|balance|cost|cap_/.test(String(column['col'])) || String(column['col']).endsWith('_nanos'),
    ),
  )
})

test('a newer schema is refused with both versions named', async (t) => {
  const dataDir = temporaryDir(t)
  const store = await openStore({ dataDir })
  await store.close()
  const database = new DatabaseSync(join(dataDir, databaseFileName))
  database.exec(`insert into schema_version values (999, 'from tomorrow', 0)`)
  database.close()
  await assert.rejects(openStore({ dataDir }), /schema 999.*up to \d/)
})

test('a database of another program is refused', async (t) => {
  const dataDir = temporaryDir(t)
  const database = new DatabaseSync(join(dataDir, databaseFileName))
  database.exec('create table notes (text)')
  database.close()
  await assert.rejects(openStore({ dataDir }), /another program/)
})

test('a migration that fails leaves the version before it whole', (t) => {
  const database = emptyDatabase(t)
  const broken = {
    version: 99,
    name: 'broken',
    ddl: 'create table half (id integer); insert into nowhere values (1);',
  }
  assert.throws(() => migrate(database, [...migrations, broken]), /nowhere/)
  assert.equal(schemaVersionOf(database), migrations.at(-1)?.version)
  assert.equal(database.prepare(`select 1 from sqlite_schema where name = 'half'`).get(), undefined)
})

test('the journal, entries and the audit log refuse to be rewritten', (t) => {
  const database = emptyDatabase(t)
  migrate(database)
  database.exec(`
    insert into audit (at, actor, action, object, detail) values (1, 'a', 'b', 'c', '{}');
    insert into journal values (1, 1, '[]', x'00', x'00');
    insert into entries (seq, at, debit, credit, amount_nanos, kind) values (1, 1, 'a', 'b', 1, 'credit');
  `)
  for (const change of [
    'update audit set actor = 1',
    'delete from audit',
    `update journal set body = '[1]'`,
    'update entries set amount_nanos = 2',
    'delete from entries',
  ]) {
    assert.throws(() => database.exec(change), /append-only/, change)
  }
})

test('a SQLite release that can lose commits is refused', () => {
  assert.throws(() => checkSqliteRelease('3.51.2'))
  assert.throws(() => checkSqliteRelease('3.50.9'))
  for (const release of ['3.51.3', '3.53.4', '4.0.0']) checkSqliteRelease(release)
})

test('the database file is readable by its owner only', async (t) => {
  const dataDir = temporaryDir(t)
  const store = await openStore({ dataDir })
  const modes = ['', '-wal', '-shm'].map(
    (end) => statSync(join(dataDir, databaseFileName + end)).mode & 0o077,
  )
  await store.close()
  assert.deepEqual(modes, [0, 0, 0])
})
