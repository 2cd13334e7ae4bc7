// @backend sqlite – migrates between SQLite and PostgreSQL itself
// @suite all – needs PostgreSQL
/** Store migrations that are interrupted, or whose nodes return later. */

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'

import {
  startPostgres,
  postgresSkipReason,
  type PostgresServer,
} from '../../../src/db/postgres/postgres.fixture.ts'
import { startCluster } from '../../support/server/cluster.ts'
import { CommandLine } from '../../support/server/command-line.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { killWhileBlocked, beginSql } from '../../support/server/blocking-session.ts'

interface MigrationResult {
  readonly new: boolean
  readonly resumed: boolean
  readonly tables: { name: string; rows: number; sha256: string }[]
  readonly ledger: { ok: boolean; entries: number }
}

const skip = postgresSkipReason
const toPostgres = ['move', '--from', 'sqlite', '--to', 'postgres']
const toSqlite = ['move', '--from', 'postgres', '--to', 'sqlite']

let postgres: PostgresServer
if (skip === false) {
  postgres = await startPostgres()
  after(() => postgres.remove())
}

describe('Interrupted store migration', () => {
  test('Migration killed during the schema – keeps both stores closed and resumes', { skip }, async (t) => {
    const server = await startTestServer(t)
    const ann = await server.account({ balance: '5' })
    await server.stop()
    const url = await postgres.createDatabase()
    const sluice = new CommandLine(server.dataDir, { DATABASE_URL: url })
    const alone = new CommandLine(server.dataDir)
    // A migration that creates the same table waits.
    const text = `${beginSql} create table requests (name text)`
    await killWhileBlocked(t, { url, dataDir: server.dataDir, args: toPostgres, blockingSql: text })
    assert.match(await sluice.expectFailure(['serve']), /A move into this database is not finished/)
    assert.match(
      await alone.expectFailure(['serve']),
      /is not finished: run `sluice move --from sqlite --to postgres`/,
    )
    const result = await sluice.json<MigrationResult>(toPostgres)
    assert.partialDeepStrictEqual(result, { new: true, resumed: true, ledger: { ok: true } })
    await server.restart({ DATABASE_URL: url })
    assert.equal(await ann.balance(), '5')
    await server.assertNoOpenHolds()
  })

  test(
    'Retired node that resumes after the migration – exits and names the new store',
    { skip },
    async (t) => {
      const { server, nodes, url } = await startCluster(t, 2)
      const frozen = nodes[1]
      assert.ok(frozen)
      frozen.signal('SIGSTOP')
      const { data } = await server.admin<{ data: { id: string }[] }>('GET', '/nodes')
      const responses = await Promise.all(
        data.map(({ id }) => server.relay.adminResponse('POST', `/nodes/${id}/retire`)),
      )
      assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200, 409]))
      await server.stop()
      const sluice = new CommandLine(server.dataDir, { DATABASE_URL: url })
      assert.partialDeepStrictEqual(await sluice.json<MigrationResult>(toSqlite), {
        new: true,
        ledger: { ok: true },
      })
      frozen.signal('SIGCONT')
      assert.equal((await frozen.exited).code, 1)
      assert.match(frozen.lines.join('\n'), /was moved at .* to a DATA_DIR: start without DATABASE_URL/)
    },
  )
})
