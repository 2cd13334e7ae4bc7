/** Old request rows leave a cluster's database in the background: even a deletion that hangs keeps no request waiting. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openClient, runTexts } from '../src/db/postgres/connection.ts'
import { dropRequestsShared } from '../src/db/postgres/drop-requests.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { rollUpShared } from '../src/usage/rollups/shared-rollup.ts'
import { question } from './support/server/account.ts'
import { openHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const skip = withoutPostgres
const dayMs = 86_400_000
const oldRows = 5000
const patienceMs = 60_000

let server: PostgresServer
if (skip === false) {
  server = await startPostgres()
  after(() => server.remove())
}

/** Requests of three days ago, each of a nano and a token. */
const oldRequests = (account: string, count: number, outcome: string): string =>
  `insert into requests (request_id, at, account_id, key_id, model, http_status, outcome, stream, prompt_tokens, cached_tokens,
    completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
  select 'old_' || number, ${Date.now() - 3 * dayMs}, '${account}', 'key_old', 'm', 200, '${outcome}', 0, 1, 0, 0, 0, 1, 1, '[]', 0
    from generate_series(1, ${count}) as number`

test(
  'where two nodes take themselves for the one that does the jobs, each row is counted once and deleted once',
  { skip },
  async (t) => {
    const url = await server.migratedDatabase()
    const connect = (name: string) => openClient({ url, name, statementMs: patienceMs })
    const nodes = await Promise.all(['one', 'two'].map(connect))
    t.after(() => Promise.all(nodes.map((node) => node.end())))
    const [node] = nodes
    assert.ok(node)
    await node.query(oldRequests('acc_old', oldRows, 'ok'))
    const work = async (client: typeof node): Promise<void> => {
      await rollUpShared(client)
      while ((await dropRequestsShared(client, Date.now())) > 0);
    }
    await Promise.all(nodes.map(work))
    const [sums = []] = await runTexts(
      node,
      `select (select sum(requests) from usage_hourly)::text as counted, (select sum(cost_nanos) from usage_hourly)::text as cost,
        (select sum(bills) from dropped_bills)::text as dropped, (select count(*) from requests)::text as left`,
    )
    assert.deepEqual(sums, [
      { counted: `${oldRows}`, cost: `${oldRows}`, dropped: `${oldRows - 1}`, left: '1' },
    ])
  },
)

test(
  'while a deletion of old rows hangs half-way, requests are served, charged and listed, and nobody waits for a lock',
  { skip },
  async (t) => {
    const url = await server.migratedDatabase()
    const stranger = await openClient({ url, name: 'stranger', statementMs: patienceMs })
    t.after(() => stranger.end())
    await stranger.query(
      `set idle_in_transaction_session_timeout = 0; ${oldRequests('acc_old', oldRows, 'refused')}; update requests set cost_nanos = 0`,
    )
    await stranger.query('begin; select 1 from requests where row_id = 2500 for update')
    const house = await openHouse(t, { env: { DATABASE_URL: url, REQUEST_RETENTION: '1d' } })
    const upstream = await house.upstream(saying('Hello!', { input: 1000, output: 1000 }))
    await house.model('m', { upstreams: [upstream] })
    const caller = await house.account({ balance: '1' })

    const looking = await openClient({ url, name: 'looking', statementMs: patienceMs })
    t.after(() => looking.end())
    const waiting = async (): Promise<string[]> => {
      const [rows = []] = await runTexts(
        looking,
        `select application_name as name from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.map((row) => String(row['name']))
    }
    const oldLeft = async (): Promise<number> => {
      const [rows = []] = await runTexts(
        looking,
        `select count(*) as rows from requests where account_id = 'acc_old'`,
      )
      return Number(rows[0]?.['rows'])
    }
    const until = async (holds: () => Promise<boolean>): Promise<void> => {
      for (const start = performance.now(); !(await holds()); await delay(20))
        assert.ok(performance.now() - start < patienceMs, 'it did not come about')
    }
    await until(async () => (await waiting()).some((name) => name.endsWith('jobs')))
    assert.equal(await oldLeft(), oldRows - 2000, 'two steps are done, the third hangs')

    const seen = new Set<string>()
    for (let count = 0; count < 20; count += 1) {
      const reply = await caller.post(question('m'))
      assert.equal(reply.status, 200)
      await reply.text()
      for (const name of await waiting()) seen.add(name)
    }
    assert.equal((await caller.requests()).length, 20)
    assert.equal(await caller.balance(), '0.92')
    assert.deepEqual(
      [...seen].filter((name) => !name.endsWith('jobs')),
      [],
    )

    await stranger.query('rollback')
    await until(async () => (await oldLeft()) === 0)
    assert.equal((await caller.requests()).length, 20)
    await house.nothingHeld()
  },
)
