/** Databases of every schema there ever was, with rows in all their tables, brought up to date: nothing is lost or changed. */

import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test, type TestContext } from 'node:test'

import { fillTables, readOn, rowsFor, type TableRows } from '../src/db/transfer/filled-tables.fixture.ts'
import { migrate } from '../src/db/sqlite/migrate.ts'
import { migrations } from '../src/db/migrations/0001-initial-schema.ts'
import { openClient, runOn } from '../src/db/postgres/connection.ts'
import { migratePostgres } from '../src/db/postgres/migrate.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { literalOf, valuesText } from '../src/db/postgres/sql-text.ts'
import { temporaryDir } from '../src/db/store.fixture.ts'
import { digestOf } from '../src/db/transfer/digest.ts'
import { numberTexts } from '../src/db/transfer/to-postgres.ts'
import { tablesOf, type Read, type TableShape } from '../src/db/transfer/tables.ts'
import { verifyClusterInThread } from '../src/server/cluster/verify-thread.ts'
import { openLedger } from '../src/server/verification/served-ledger.fixture.ts'
import { verifyInThread } from '../src/server/verify-thread.ts'
import { question } from './support/server/account.ts'
import { CommandLine } from './support/server/command-line.ts'
import { openHouse, type House } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

/** PostgreSQL was first written to by the release that had this schema. */
const firstOfPostgres = 8
const newest = migrations.length
const earlier = migrations.map(({ version }) => version).filter((version) => version < newest)

let server: PostgresServer
if (withoutPostgres === false) {
  server = await startPostgres()
  after(() => server.remove())
}

/** A database of today with a ledger and rows in every table. */
async function filledDatabase(t: TestContext): Promise<DatabaseSync> {
  const { path } = await openLedger(t)
  const database = openUnsynced(path)
  t.after(() => database.close())
  await fillTables(database)
  for (const { name } of (await tablesOf(readOn(database))).filter((each) => each.name !== 'dropped_bills'))
    assert.ok(database.prepare(`select 1 from ${name} limit 1`).get(), `${name} is empty`)
  return database
}

/** The disk of a busy machine is not what is tried here. */
function openUnsynced(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec('pragma synchronous = off')
  return database
}

/** A SQLite file of an earlier schema with the rows of today's, as far as it had a place for them. */
async function fileOf(
  version: number,
  from: DatabaseSync,
  path: string,
): Promise<{ tables: TableShape[]; rows: TableRows[] }> {
  const database = openUnsynced(path)
  try {
    migrate(database, migrations.slice(0, version))
    const tables = await tablesOf(readOn(database))
    const rows = await rowsFor(tables, from)
    // A tier may name one that comes after it.
    database.exec('begin; pragma defer_foreign_keys = on')
    for (const { name, columns, cells } of rows) {
      database.exec(`delete from ${name}`)
      const text = `insert into ${name} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
      for (const values of cells) database.prepare(text).run(...values)
    }
    database.exec('commit')
    return { tables, rows }
  } finally {
    database.close()
  }
}

/** The same in a PostgreSQL of that schema, where the journal is that of a node. */
async function databaseOf(version: number, rows: readonly TableRows[], url: string): Promise<void> {
  await migratePostgres(url, migrations.slice(0, version))
  const client = await openClient({ url, name: 'tests', statementMs: 60_000 })
  for (const { name, columns, cells } of rows) {
    await client.query(`delete from ${name}`)
    if (cells.length === 0) continue
    const isJournal = name === 'journal'
    const names = isJournal ? [...columns, 'number', 'node'] : columns
    const values = isJournal
      ? cells.map((each) => [...each, each[columns.indexOf('seq')] ?? null, 'node_one'])
      : cells
    await client.query(`insert into ${name} (${names.join(', ')}) values ${valuesText(values)}`)
  }
  const read: Read = async (statement) => (await runOn(client, statement)).rows
  await client.query((await numberTexts(read, new Map())).join(';'))
  await client.end()
}

async function digestsOf(read: Read, tables: readonly TableShape[]): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const table of tables) digests[table.name] = (await digestOf(read, table, () => undefined)).sha256
  return digests
}

async function withFile<Result>(
  path: string,
  use: (database: DatabaseSync) => Result | Promise<Result>,
): Promise<Result> {
  const database = openUnsynced(path)
  try {
    return await use(database)
  } finally {
    database.close()
  }
}

test('a file of every earlier schema comes up to date with every row, and its ledger holds', async (t) => {
  const today = await filledDatabase(t)
  const dir = temporaryDir(t)
  assert.equal(migrations.at(-1)?.version, newest)
  for (const version of earlier) {
    const path = join(dir, `${version}.db`)
    const { tables } = await fileOf(version, today, path)
    const before = await withFile(path, (database) => digestsOf(readOn(database), tables))
    await withFile(path, (database) => migrate(database))
    const found = await withFile(path, (database) => digestsOf(readOn(database), tables))
    assert.deepEqual(found, before, `schema ${version}`)
    const { ok, findings } = await verifyInThread(path)
    assert.deepEqual({ ok, findings }, { ok: true, findings: [] }, `schema ${version}`)
  }
})

test(
  'a PostgreSQL of every earlier schema comes to hold just what a file of that schema comes to hold',
  { skip: withoutPostgres },
  async (t) => {
    const today = await filledDatabase(t)
    const dir = temporaryDir(t)
    for (const version of earlier.filter((each) => each >= firstOfPostgres)) {
      const path = join(dir, `${version}.db`)
      const { rows } = await fileOf(version, today, path)
      const url = await server.database()
      await databaseOf(version, rows, url)
      await Promise.all([migratePostgres(url), withFile(path, (database) => migrate(database))])
      const client = await openClient({ url, name: 'tests', statementMs: 60_000 })
      const read: Read = async (statement) => (await runOn(client, statement)).rows
      const [inFile, tables] = await withFile(path, async (database) => {
        const shapes = await tablesOf(readOn(database))
        return [await digestsOf(readOn(database), shapes), shapes] as const
      })
      const inPostgres = await digestsOf(read, tables)
      await client.end()
      assert.deepEqual(inPostgres, inFile, `schema ${version}`)
      const { ok, findings } = await verifyClusterInThread(url)
      assert.deepEqual({ ok, findings }, { ok: true, findings: [] }, `schema ${version}`)
    }
  },
)

/** What people see of a relay that was used, and one more request that it charges. */
async function proveServing(house: House, account: Awaited<ReturnType<House['account']>>): Promise<void> {
  const balance = Number(await account.balance())
  const reply = await account.post(question('m'))
  assert.equal(reply.status, 200, await reply.text())
  assert.equal(Math.round((balance - Number(await account.balance())) * 1000), 4)
  assert.partialDeepStrictEqual(await house.verify(), { ok: true, drift: '0' })
}

test(
  'a relay and a node start on the oldest schema of theirs, know the money, and charge the next request',
  { skip: withoutPostgres },
  async (t) => {
    const secret = 'a passphrase that is long enough'
    const house = await openHouse(t, { env: { ENCRYPTION_KEY: secret } })
    const upstream = await house.upstream(saying('Hi!', { input: 1000, output: 1000 }))
    await house.model('m', { upstreams: [upstream] })
    const account = await house.account({ balance: '9007199.254740993' })
    await proveServing(house, account)
    const balance = await account.balance()
    const usage = () => house.admin('GET', '/usage?group=model&model=m')
    const used = await usage()
    await house.stop()

    const path = join(house.dataDir, 'sluice.db')
    const old = join(temporaryDir(t), 'old.db')
    const { rows } = await withFile(path, (database) => fileOf(1, database, old))
    assert.ok(rows.length < 25)
    const inNode = await withFile(path, (database) => fileOf(firstOfPostgres, database, `${old}.8`))
    const url = await server.database()
    await databaseOf(firstOfPostgres, inNode.rows, url)
    await withFile(path, (database) => database.exec('pragma journal_mode = delete'))
    await withFile(old, (database) => database.exec(`vacuum into ${literalOf(`${old}.put`)}`))
    await copyFile(`${old}.put`, path)

    await house.restart()
    assert.equal(await account.balance(), balance)
    assert.deepEqual(await usage(), used)
    await proveServing(house, account)
    await house.restart({ DATABASE_URL: url })
    assert.equal(await account.balance(), balance)
    assert.deepEqual(await usage(), used)
    await proveServing(house, account)
    await house.nothingHeld()
  },
)

test(
  'nodes that start at once on an empty database bring it up to date once; a newer schema, or what is another program’s, is refused',
  { skip: withoutPostgres },
  async (t) => {
    const url = await server.database()
    await Promise.all(Array.from({ length: 4 }, () => migratePostgres(url)))
    const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
    t.after(() => client.end())
    const { rows } = await client.query<{ versions: string }>(
      'select count(distinct version) || $1 || count(*) as versions from schema_version',
      [' of '],
    )
    assert.equal(rows[0]?.versions, `${newest} of ${newest}`)
    await client.query(`insert into schema_version values (${newest + 1}, 'of tomorrow', 0)`)
    const node = new CommandLine(temporaryDir(t), { DATABASE_URL: url })
    assert.match(await node.failure(['serve']), /has schema \d+, made by a newer release/)

    const strange = await server.database()
    const stranger = await openClient({ url: strange, name: 'tests', statementMs: 20_000 })
    await stranger.query('create table theirs (id integer)')
    await stranger.end()
    await assert.rejects(migratePostgres(strange), /belongs to another program/)

    // What waiting does not help ends the start, by the name of the setting and without what is secret in it.
    const secretly = url.replace('sluice@', 'sluice:geheim@')
    const wrong: [string, RegExp][] = [
      [`${secretly}_not`, /^sluice: DATABASE_URL: database "\w+_not" does not exist$/],
      [`${secretly}?sslmode=verify-full`, /^sluice: DATABASE_URL: The server does not support SSL/],
      [`${secretly}?sslrootcert=/none.pem`, /^sluice: DATABASE_URL: ENOENT.*\/none\.pem/],
      [url.replace('sluice@', 'sluice:geheim%@'), /^sluice: DATABASE_URL is not valid; .*`%25`/],
    ]
    await Promise.all(
      wrong.map(async ([address, words]) => {
        const told = await new CommandLine(temporaryDir(t), { DATABASE_URL: address }).failure(['serve'])
        assert.match(told, words)
        assert.doesNotMatch(told, /geheim/)
      }),
    )
  },
)
