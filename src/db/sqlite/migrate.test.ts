import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test, type TestContext } from 'node:test'
import { migrateSqlite, readSchemaVersion } from './migrate.ts'
import { migrations } from '../migrations/migrations.ts'
import { owners } from '../schema/schema.ts'
import { checkSqliteRelease, openWriter } from './connection.ts'
import { createTemporaryDir } from '../store.fixture.ts'
import { databaseFileName, openStore } from './store.ts'

function openEmptyDatabase(t: TestContext): DatabaseSync {
  const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  return connection.database
}

describe('migrateSqlite', () => {
  test('empty file – gets the newest schema, and a second run changes nothing', (t) => {
    const database = openEmptyDatabase(t)
    migrateSqlite(database)
    const first = database.prepare('select * from sqlite_schema').all()
    migrateSqlite(database)
    assert.deepEqual(database.prepare('select * from sqlite_schema').all(), first)
    assert.equal(readSchemaVersion(database), migrations.at(-1)?.version)
  })

  test('table types – name exactly the tables that the migrations create', (t) => {
    const database = openEmptyDatabase(t)
    migrateSqlite(database)
    const tables = database
      .prepare(
        `select name from pragma_table_list where schema = 'main' and name not like 'sqlite_%' and strict = 1`,
      )
      .all()
      .map((row) => String(row['name']))
    assert.deepEqual(tables.toSorted(), [...Object.keys(owners), 'schema_version'].toSorted())
  })

  test('money columns – end in _nanos, or in _minor for a payment provider’s units', (t) => {
    const database = openEmptyDatabase(t)
    migrateSqlite(database)
    const columns = database
      .prepare(
        `select m.name as tab, c.name as col, c.type from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table'`,
      )
      .all()
    assert.ok(
      columns.every(
        (column) =>
          !/amount|balance|cost|cap_/.test(String(column['col'])) ||
          /_(nanos|minor)$/.test(String(column['col'])),
      ),
    )
  })

  test('newer schema – is rejected with both versions in the error', async (t) => {
    const dataDir = createTemporaryDir(t)
    const store = await openStore({ dataDir })
    await store.close()
    const database = new DatabaseSync(join(dataDir, databaseFileName))
    database.exec(`insert into schema_version values (999, 'from tomorrow', 0)`)
    database.close()
    await assert.rejects(openStore({ dataDir }), /schema 999.*up to \d/)
  })

  test('database of another program – is rejected', async (t) => {
    const dataDir = createTemporaryDir(t)
    const database = new DatabaseSync(join(dataDir, databaseFileName))
    database.exec('create table notes (text)')
    database.close()
    await assert.rejects(openStore({ dataDir }), /another program/)
  })

  test('failed migration – leaves the previous version intact', (t) => {
    const database = openEmptyDatabase(t)
    const broken = {
      version: 99,
      name: 'broken',
      ddl: 'create table half (id integer); insert into nowhere values (1);',
    }
    assert.throws(() => migrateSqlite(database, [...migrations, broken]), /nowhere/)
    assert.equal(readSchemaVersion(database), migrations.at(-1)?.version)
    assert.equal(database.prepare(`select 1 from sqlite_schema where name = 'half'`).get(), undefined)
  })

  test('journal, entries and audit log – reject updates and deletes', (t) => {
    const database = openEmptyDatabase(t)
    migrateSqlite(database)
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

  test('SQLite release – is rejected if it can lose commits', () => {
    assert.throws(() => checkSqliteRelease('3.51.2'))
    assert.throws(() => checkSqliteRelease('3.50.9'))
    for (const release of ['3.51.3', '3.53.4', '4.0.0']) checkSqliteRelease(release)
  })

  test('database file – is readable only by its owner', async (t) => {
    const dataDir = createTemporaryDir(t)
    const store = await openStore({ dataDir })
    const modes = ['', '-wal', '-shm'].map(
      (end) => statSync(join(dataDir, databaseFileName + end)).mode & 0o077,
    )
    await store.close()
    assert.deepEqual(modes, [0, 0, 0])
  })
})
