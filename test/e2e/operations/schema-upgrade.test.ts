// @backend sqlite – test/e2e/operations/schema-upgrade-postgres.test.ts upgrades PostgreSQL
/** SQLite files of every earlier schema, with rows in all tables, are upgraded without losing or changing a row. */

import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { migrations } from '../../../src/db/migrations/migrations.ts'
import { quoteLiteral } from '../../../src/db/postgres/sql-text.ts'
import { migrateSqlite } from '../../../src/db/sqlite/migrate.ts'
import { createTemporaryDir } from '../../../src/db/store.fixture.ts'
import { createReader } from '../../../src/db/transfer/filled-tables.fixture.ts'
import { verifyInThread } from '../../../src/engine/verification/verify-thread.ts'
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
import { waitUntil } from '../../support/wait.ts'

/** The migration that adds `requests.count`. */
const rejectionCountsVersion = 21
/** The migration that gives older stores their currency. */
const currencyVersion = 29

describe('Schema upgrade', () => {
  test('SQLite file of every earlier schema – is upgraded with every row and a valid ledger', async (t) => {
    const filled = await createFilledDatabase(t)
    const dir = createTemporaryDir(t)
    assert.equal(migrations.at(-1)?.version, latestVersion)
    for (const version of earlierVersions) {
      const path = join(dir, `${version}.db`)
      const { tables } = await createFile(version, filled, path)
      const before = await withFile(path, (database) => digestTables(createReader(database), tables))
      await withFile(path, (database) => migrateSqlite(database))
      // The one row that an upgrade adds.
      const added = await withFile(path, (database) =>
        database.prepare("delete from settings where name = 'currency' returning value").get(),
      )
      assert.equal(added?.['value'], version < currencyVersion ? 'CNY' : undefined, `schema ${version}`)
      const found = await withFile(path, (database) => digestTables(createReader(database), tables))
      assert.deepEqual(found, before, `schema ${version}`)
      const counts = await withFile(path, (database) =>
        database.prepare('select distinct count from requests order by count').all(),
      )
      const expected = version < rejectionCountsVersion ? [[1]] : [[1], [3]]
      assert.deepEqual(counts.map(Object.values), expected, `schema ${version}`)
      const { ok, findings } = await verifyInThread(path)
      assert.deepEqual({ ok, findings }, { ok: true, findings: [] }, `schema ${version}`)
    }
  })

  test('Relay – starts on the oldest schema, charges the next request and names unknown costs', async (t) => {
    const server = await startTestServer(t)
    const prices = { input: '0.0007', output: '0.0007' }
    const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }), { prices })
    const other = await server.upstreamAt(upstream.url, { prices })
    await server.model('m', { upstreams: [upstream] })
    for (const model of ['n', 'o']) await server.model(model, { upstreams: [other] })
    const account = await server.account({ balance: '9007199.254740993' })
    await assertServes(server, account)
    const balance = await account.balance()
    const usage = () => server.admin('GET', '/usage?group=model&model=m')
    const usageBefore = await usage()
    await server.stop()

    const path = join(server.dataDir, 'sluice.db')
    const oldPath = join(createTemporaryDir(t), 'old.db')
    const { rows } = await withFile(path, (database) => createFile(1, database, oldPath))
    assert.ok(rows.length < 25)
    await withFile(path, (database) => database.exec('pragma journal_mode = delete'))
    await withFile(oldPath, (database) => database.exec(`vacuum into ${quoteLiteral(`${oldPath}.put`)}`))
    await copyFile(`${oldPath}.put`, path)

    await server.restart()
    assert.equal(await account.balance(), balance)
    assert.deepEqual(await usage(), usageBefore)
    const warning = await waitUntil(
      async () => server.relay.lines.find((line) => line.includes('costs unknown')),
      'the warning',
    )
    assert.partialDeepStrictEqual(JSON.parse(warning), { upstream: other.name, models: ['n', 'o'] })
    await assertServes(server, account)
    const [newest] = await server.requests({ account: account.id })
    const { upstream_cost: cost } = await server.admin<{ upstream_cost: string }>(
      'GET',
      `/requests/${newest?.request_id}`,
    )
    assert.equal(cost, '0.0014')
    await server.assertNoOpenHolds()
  })
})
