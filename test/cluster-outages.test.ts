/** Three nodes under load while their database goes away, is killed, or is told everything twice. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openClient } from '../src/db/postgres/connection.ts'
import { sqlStateOf } from '../src/db/postgres/errors.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { openMovingWay, type MovingWay } from '../src/lib/tcp-proxy.fixture.ts'
import {
  openWay,
  replay,
  type Fate,
  type Recorded,
} from '../src/server/cluster/ledger/faulty-connection.fixture.ts'
import { openBalancer } from './support/server/load-balancer.ts'
import { question } from './support/server/account.ts'
import { modelPrices, openCluster, served, until, withModel } from './cluster.ts'
import { commandsOf } from './support/server/command-line.ts'
import { crowdAt, outage } from './outages.ts'

const skip = withoutPostgres

test(
  'PostgreSQL away for 5 s, and killed: every caller waits or is told when to come again, nothing is lost or doubled',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3)
    const callers = await crowdAt(cluster)
    callers.crowd.come(12)
    await outage(cluster, callers, { ms: 5000, signal: 'SIGINT' })
    await outage(cluster, callers, { ms: 0, signal: 'SIGKILL' })
    await callers.prove()
  },
)

test(
  'a standby in the place of the database is a database that is away; once it is promoted nothing is lost or doubled',
  { skip },
  async (t) => {
    let way: MovingWay | null = null
    const cluster = await openCluster(t, 3, {}, async (url) => (way = await openMovingWay(t, url)).url)
    const standby = await cluster.postgres.standby()
    t.after(() => standby.remove())
    const [there, elsewhere] = [cluster.url, standby.urlOf('postgres')]
    const callers = await crowdAt(cluster)
    callers.crowd.come(12)
    // Its name leads to a server that only follows, and then back.
    await outage(cluster, callers, {
      ms: 1500,
      signal: 'SIGKILL',
      meanwhile: () => way?.leadTo(elsewhere),
      mend: () => {
        way?.leadTo(there)
        return cluster.postgres.start()
      },
    })
    const left = await standby.ask(
      "select application_name from pg_stat_activity where application_name like 'sluice%'",
    )
    assert.deepEqual(left, [], 'nobody reads what may be old')
    await callers.account.change({ name: 'Ada' })
    // For good.
    await outage(cluster, callers, {
      ms: 1500,
      signal: 'SIGKILL',
      meanwhile: () => way?.leadTo(elsewhere),
      mend: () => standby.promote(),
    })
    await callers.account.change({ name: 'Grace' })
    await callers.prove()
  },
)

test(
  'a failover that loses commits: what was made in them is known to nobody any more',
  { skip },
  async (t) => {
    const ways: MovingWay[] = []
    const wayTo = async (url: string): Promise<string> => {
      const way = await openMovingWay(t, url)
      ways.push(way)
      return way.url
    }
    const cluster = await openCluster(t, 2, { WORKERS: '2' }, wayTo)
    const { house, nodes, postgres } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '10' })
    const { secret: old } = account.key
    await served(cluster, old)
    const asks = async (secret: string, model = 'm'): Promise<number[]> =>
      Promise.all(
        nodes.map(async ({ url }) => {
          const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
          const body = JSON.stringify(question(model))
          const reply = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
          await reply.text()
          return reply.status
        }),
      )
    assert.deepEqual(await asks(old), [200, 200])
    const standby = await postgres.standby()
    t.after(() => standby.remove())
    await standby.fallBehind(postgres)
    const made = await account.newKey()
    await house.model('made', { upstreams: [upstream], prices: modelPrices })
    await served(cluster, made.secret, 'made')
    assert.deepEqual(await asks(made.secret, 'made'), [200, 200])
    await postgres.stop('SIGKILL')
    for (const way of ways) way.leadTo(standby.urlOf('postgres'))
    await standby.promote()
    await until(async () => (await asks(old)).every((status) => status === 200))
    await until(async () => (await asks(made.secret)).every((status) => status === 401))
    await until(async () => (await asks(old, 'made')).every((status) => status === 404))
    assert.deepEqual(await asks(old), [200, 200])
    await house.nothingHeld()
  },
)

test(
  'every batch is sent twice, and of many the answer is lost: nobody notices, and nothing is lost or doubled',
  { skip },
  async (t) => {
    const flights: Recorded[] = []
    let commits = 0
    const fateOf = (): Fate => {
      commits += 1
      if (commits % 7 === 0) return 'do and lose'
      return commits % 11 === 0 ? 'lose' : 'pass'
    }
    let direct = ''
    const cluster = await openCluster(t, 3, {}, (url) => {
      direct = url
      return openWay(t, url, fateOf, (flight) => flights.push(flight))
    })
    const callers = await crowdAt(cluster)
    callers.crowd.come(12, 300)
    const calls = await callers.crowd.done()
    assert.deepEqual(
      calls.filter(({ isWhole }) => !isWhole),
      [],
    )
    // Bills that a node had put on its own disk, while a batch was lost, are still on their way.
    await cluster.house.nothingHeld()
    const client = await openClient({ url: direct, name: 'replay', statementMs: 20_000 })
    const outcomes = new Map<string, number>()
    for (const flight of flights) {
      const state = await replay(client, flight).then(
        () => 'taken',
        (error: unknown) => sqlStateOf(error) ?? String(error),
      )
      if (state !== 'taken') await client.query('rollback')
      const what = flight.isOfLedger ? `of the ledger: ${state}` : 'of refused requests'
      outcomes.set(what, (outcomes.get(what) ?? 0) + 1)
    }
    await client.end()
    // Unique violations alone: the journal has each of them, or something else in its place.
    assert.deepEqual([...outcomes.keys()], ['of the ledger: 23505'])
    assert.ok(flights.length > 50, `${flights.length} batches`)
    await callers.prove()
  },
)

test(
  'three nodes are stopped and started one after the other under load: no request fails',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3, { DRAIN_DELAY: '1s' })
    const { nodes } = cluster
    const balancer = await openBalancer(
      t,
      nodes.map(({ url }) => url),
    )
    const callers = await crowdAt(cluster, { urlOf: () => balancer.url })
    callers.crowd.come(12)
    for (const [index, node] of nodes.entries()) {
      await callers.crowd.reached(callers.crowd.told.length + 100)
      assert.equal((await node.stop()).code, 0)
      await cluster.again(index)
    }
    await callers.crowd.reached(callers.crowd.told.length + 100)
    const calls = await callers.crowd.ended()
    assert.deepEqual(
      calls.filter(({ isWhole }) => !isWhole),
      [],
    )
    await callers.prove()
  },
)

test(
  'a credit by the command line that the database has not confirmed names the key with which it is asked for again, and credits once',
  { skip },
  async (t) => {
    const { house, postgres } = await openCluster(t, 1)
    const account = await house.account({ balance: '1' })
    const sluice = commandsOf(house.relay)
    const credit = ['account', 'credit', account.id, '5', '--reason', 'invoice 4711']
    await postgres.stop('SIGKILL')
    const failure = await sluice.failure(credit)
    const key = /may have been credited.* with (--idempotency-key) (\S+), which cannot credit twice/.exec(
      failure,
    )
    assert.ok(key, failure)
    await postgres.start()
    await until(async () => (await fetch(`${house.url}/readyz`)).status === 200)
    for (let times = 0; times < 2; times += 1)
      assert.equal(await sluice.output([...credit, ...key.slice(1)]), '5 is credited; the balance is 6.\n')
    await house.nothingHeld()
  },
)
