// @backend postgres – starts its own cluster
// @suite all – needs PostgreSQL and a relay with four workers
/** Reports of one account on the workers of a node, each of which has a connection for reports. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openClient } from '../../src/db/postgres/connection.ts'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { startCluster } from '../support/server/cluster.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason
const report = '/v1/dashboard/billing/usage'

describe('Node with four workers', () => {
  test('20 reports of one account at once – at most two run, the others wait', { skip }, async (t) => {
    const { server, url } = await startCluster(t, 1, { WORKERS: '4' })
    const account = await server.account()
    assert.equal((await account.get(report)).status, 200)
    const [blocker, observer] = await Promise.all(
      ['blocker', 'observer'].map((name) => openClient({ url, name, statementMs: 60_000 })),
    )
    assert.ok(blocker && observer)
    t.after(() => Promise.all([blocker.end(), observer.end()]))
    await blocker.query('begin; lock table usage_hourly in access exclusive mode')
    const countRunning = async (): Promise<number> => {
      const running = `select 1 from pg_stat_activity where application_name like '% reports' and state = 'active'`
      return (await observer.query(running)).rows.length
    }
    const responses = Array.from({ length: 20 }, () => account.get(report))
    await waitUntil(async () => (await countRunning()) > 0)
    // Each worker has received requests that were sent after the reports.
    await Promise.all(Array.from({ length: 40 }, () => account.get('/v1/models')))
    assert.ok((await countRunning()) <= 2)
    await blocker.query('rollback')
    for (const { status } of await Promise.all(responses)) assert.equal(status, 200)
  })
})
