// @backend postgres – upgrades databases of earlier schemas itself
// @suite all – needs PostgreSQL
/** PostgreSQL databases of every earlier schema, with rows in all tables, end up with the same rows as SQLite files. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

import { createReader, type TableRows } from '../../../src/db/transfer/filled-tables.fixture.ts'
import { migrateSqlite } from '../../../src/db/sqlite/migrate.ts'
import { migrations } from '../../../src/db/migrations/migrations.ts'
import { openClient, runStatement } from '../../../src/db/postgres/connection.ts'
import { migratePostgres } from '../../../src/db/postgres/migrate.ts'
import {
  startPostgres,
  postgresSkipReason,
  type PostgresServer,
} from '../../../src/db/postgres/postgres.fixture.ts'
import { formatValues } from '../../../src/db/postgres/sql-text.ts'
import { createTemporaryDir } from '../../../src/db/store.fixture.ts'
import { sequenceSql } from '../../../src/db/transfer/to-postgres.ts'
import { listTables, type ReadRows } from '../../../src/db/transfer/tables.ts'
import { verifyInThread } from '../../../src/engine/verification/verify-thread.ts'
import { CommandLine } from '../../support/server/command-line.ts'
import {
  assertServes,
  createFile,
  createFilledDatabase,
  digestTables,
  earlierVersions,
  latestVersion,
  withFile,
} from '../../support/server/earlier-schemas.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

/** The schema of the first release with PostgreSQL. */
const firstPostgresVersion = 8

let postgres: PostgresServer
if (postgresSkipReason === false) {
  postgres = await startPostgres()
  after(() => postgres.remove())
}

/** Creates a database of an earlier schema, where the journal belongs to a node. */
async function createPostgresDatabase(
  version: number,
  rows: readonly TableRows[],
  url: string,
): Promise<void> {
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
    await client.query(`insert into ${name} (${names.join(', ')}) values ${formatValues(values)}`)
  }
  const read: ReadRows = async (statement) => (await runStatement(client, statement)).rows
  await client.query((await sequenceSql(read, new Map())).join(';'))
  await client.end()
}

describe('Schema upgrade of PostgreSQL', () => {
  test(
    'PostgreSQL of every earlier schema – ends up with the same rows as the SQLite file',
    { skip: postgresSkipReason },
    async (t) => {
      const filled = await createFilledDatabase(t)
      const dir = createTemporaryDir(t)
      for (const version of earlierVersions.filter((each) => each >= firstPostgresVersion)) {
        const path = join(dir, `${version}.db`)
        const { rows } = await createFile(version, filled, path)
        const url = await postgres.createDatabase()
        await createPostgresDatabase(version, rows, url)
        await Promise.all([migratePostgres(url), withFile(path, (database) => migrateSqlite(database))])
        const client = await openClient({ url, name: 'tests', statementMs: 60_000 })
        const read: ReadRows = async (statement) => (await runStatement(client, statement)).rows
        const [inFile, tables] = await withFile(path, async (database) => {
          const shapes = await listTables(createReader(database))
          return [await digestTables(createReader(database), shapes), shapes] as const
        })
        const inPostgres = await digestTables(read, tables)
        await client.end()
        assert.deepEqual(inPostgres, inFile, `schema ${version}`)
        const { ok, findings } = await verifyInThread({ clusterUrl: url })
        assert.deepEqual({ ok, findings }, { ok: true, findings: [] }, `schema ${version}`)
      }
    },
  )

  test(
    'Node – starts on its oldest schema and charges the next request',
    { skip: postgresSkipReason },
    async (t) => {
      const server = await startTestServer(t, {
        env: { ENCRYPTION_KEY: 'a passphrase that is long enough' },
      })
      const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }))
      await server.model('m', { upstreams: [upstream] })
      const account = await server.account({ balance: '9007199.254740993' })
      await assertServes(server, account)
      const balance = await account.balance()
      const usage = () => server.admin('GET', '/usage?group=model&model=m')
      const usageBefore = await usage()
      await server.stop()

      const oldPath = join(createTemporaryDir(t), 'old.db')
      const { rows } = await withFile(join(server.dataDir, 'sluice.db'), (database) =>
        createFile(firstPostgresVersion, database, oldPath),
      )
      const url = await postgres.createDatabase()
      await createPostgresDatabase(firstPostgresVersion, rows, url)
      await server.restart({ DATABASE_URL: url })
      assert.equal(await account.balance(), balance)
      assert.deepEqual(await usage(), usageBefore)
      await assertServes(server, account)
      await server.assertNoOpenHolds()
    },
  )

  test(
    'Concurrent starts – upgrade once; a newer schema or foreign database is rejected',
    { skip: postgresSkipReason },
    async (t) => {
      const url = await postgres.createDatabase()
      await Promise.all(Array.from({ length: 4 }, () => migratePostgres(url)))
      const client = await openClient({ url, name: 'tests', statementMs: 60_000 })
      t.after(() => client.end())
      const { rows } = await client.query<{ versions: string }>(
        'select count(distinct version) || $1 || count(*) as versions from schema_version',
        [' of '],
      )
      assert.equal(rows[0]?.versions, `${latestVersion} of ${latestVersion}`)
      await client.query(`insert into schema_version values (${latestVersion + 1}, 'of a newer release', 0)`)
      const node = new CommandLine(createTemporaryDir(t), { DATABASE_URL: url })
      assert.match(await node.expectFailure(['serve']), /has schema \d+, made by a newer release/)

      const foreignUrl = await postgres.createDatabase()
      const foreignClient = await openClient({ url: foreignUrl, name: 'tests', statementMs: 60_000 })
      await foreignClient.query('create table theirs (id integer)')
      await foreignClient.end()
      await assert.rejects(migratePostgres(foreignUrl), /belongs to another program/)

      // A permanent error ends the start with the name of the setting and without its secret.
      const withPassword = url.replace('sluice@', 'sluice:geheim@')
      const invalidUrls: [string, RegExp][] = [
        [`${withPassword}_not`, /^sluice: DATABASE_URL: database "\w+_not" does not exist$/],
        [`${withPassword}?sslmode=verify-full`, /^sluice: DATABASE_URL: The server does not support SSL/],
        [`${withPassword}?sslrootcert=/none.pem`, /^sluice: DATABASE_URL: ENOENT.*\/none\.pem/],
        [url.replace('sluice@', 'sluice:geheim%@'), /^sluice: Invalid DATABASE_URL: must be .*`%25`/],
      ]
      // One after the other: a connection that takes too long is tried again instead.
      for (const [databaseUrl, message] of invalidUrls) {
        const outsider = new CommandLine(createTemporaryDir(t), { DATABASE_URL: databaseUrl })
        const error = await outsider.expectFailure(['serve'])
        assert.match(error, message)
        assert.doesNotMatch(error, /geheim/)
      }
    },
  )
})
