// @backend postgres – starts its own cluster
// @suite all – deletes many rows
/** Old request records are deleted in the background: even a blocked deletion delays no request. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { openClient, runScript } from '../../src/db/postgres/connection.ts'
import { deleteRequestsShared } from '../../src/db/postgres/retention.ts'
import { postgresSkipReason, type PostgresServer } from '../../src/db/postgres/postgres.fixture.ts'
import { rollUpShared } from '../../src/usage/rollups/shared-rollup.ts'
import { chatRequest } from '../support/server/account.ts'
import { sharedPostgres } from '../support/server/cluster.ts'
import { startTestServer } from '../support/server/test-server.ts'
import { respondWith } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason
const dayMs = 86_400_000
const oldRows = 5000
const timeoutMs = 60_000

let postgres: PostgresServer
if (skip === false) postgres = await sharedPostgres()

/** Inserts requests of three days ago, each with a cost of one nano and one token. */
const insertOldRequestsSql = (account: string, count: number, outcome: string): string =>
  `insert into requests (request_id, at, account_id, key_id, model, http_status, outcome, stream, prompt_tokens, cached_tokens,
    completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
  select 'old_' || number, ${Date.now() - 3 * dayMs}, '${account}', 'key_old', 'm', 200, '${outcome}', 0, 1, 0, 0, 0, 1, 1, '[]', 0
    from generate_series(1, ${count}) as number`

describe('Request retention in a cluster', () => {
  test('Two nodes that both run the jobs – count and delete each row once', { skip }, async (t) => {
    const url = await postgres.createMigratedDatabase()
    const connect = (name: string) => openClient({ url, name, statementMs: timeoutMs })
    const nodes = await Promise.all(['one', 'two'].map(connect))
    t.after(() => Promise.all(nodes.map((node) => node.end())))
    const [node] = nodes
    assert.ok(node)
    await node.query(insertOldRequestsSql('acc_old', oldRows, 'ok'))
    const runJobs = async (client: typeof node): Promise<void> => {
      await rollUpShared(client)
      while ((await deleteRequestsShared(client, Date.now())) > 0);
    }
    await Promise.all(nodes.map(runJobs))
    const [sums = []] = await runScript(
      node,
      `select (select sum(requests) from usage_hourly)::text as counted, (select sum(cost_nanos) from usage_hourly)::text as cost,
        (select sum(bills) from dropped_bills)::text as dropped, (select count(*) from requests)::text as left`,
    )
    assert.deepEqual(sums, [
      { counted: `${oldRows}`, cost: `${oldRows}`, dropped: `${oldRows - 1}`, left: '1' },
    ])
  })

  test(
    'Blocked deletion of old rows – requests are served, charged and listed without waiting',
    { skip },
    async (t) => {
      const url = await postgres.createMigratedDatabase()
      const blocker = await openClient({ url, name: 'blocker', statementMs: timeoutMs })
      t.after(() => blocker.end())
      await blocker.query(
        `set idle_in_transaction_session_timeout = 0; ${insertOldRequestsSql('acc_old', oldRows, 'refused')}; update requests set cost_nanos = 0`,
      )
      await blocker.query('begin; select 1 from requests where row_id = 2500 for update')
      const server = await startTestServer(t, { env: { DATABASE_URL: url, REQUEST_RETENTION: '1d' } })
      const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
      await server.model('m', { upstreams: [upstream] })
      const caller = await server.account({ balance: '1' })

      const observer = await openClient({ url, name: 'observer', statementMs: timeoutMs })
      t.after(() => observer.end())
      const waitingSessions = async (): Promise<string[]> => {
        const [rows = []] = await runScript(
          observer,
          `select application_name as name from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.map((row) => String(row['name']))
      }
      const countOldRequests = async (): Promise<number> => {
        const [rows = []] = await runScript(
          observer,
          `select count(*) as rows from requests where account_id = 'acc_old'`,
        )
        return Number(rows[0]?.['rows'])
      }
      await waitUntil(async () => (await waitingSessions()).some((name) => name.endsWith('jobs')))
      assert.equal(await countOldRequests(), oldRows - 2000, 'two batches are deleted, the third is blocked')

      const seen = new Set<string>()
      for (let count = 0; count < 20; count += 1) {
        const response = await caller.post(chatRequest('m'))
        assert.equal(response.status, 200)
        await response.text()
        for (const name of await waitingSessions()) seen.add(name)
      }
      assert.equal((await caller.requests()).length, 20)
      assert.equal(await caller.balance(), '0.92')
      assert.deepEqual(
        [...seen].filter((name) => !name.endsWith('jobs')),
        [],
      )

      await blocker.query('rollback')
      await waitUntil(async () => (await countOldRequests()) === 0)
      assert.equal((await caller.requests()).length, 20)
      await server.assertNoOpenHolds()
    },
  )
})
