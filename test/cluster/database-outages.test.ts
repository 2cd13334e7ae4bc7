// @backend postgres – starts its own cluster
// @suite all – outages of the database under load
/** Three nodes under load while their database is unavailable, killed, or receives every batch twice. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openClient } from '../../src/db/postgres/connection.ts'
import { sqlState } from '../../src/db/postgres/errors.ts'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { openRetargetableProxy, type RetargetableProxy } from '../../src/lib/tcp-proxy.fixture.ts'
import {
  openFaultyProxy,
  replayPipeline,
  type CommitFault,
  type RecordedPipeline,
} from '../../src/engine/postgres/faulty-connection.fixture.ts'
import { startLoadBalancer } from '../support/server/load-balancer.ts'
import { chatRequest } from '../support/server/account.ts'
import {
  type Cluster,
  modelPrices,
  sharedCluster,
  startCluster,
  waitUntilApplied,
  waitUntilServed,
  addModel,
} from '../support/server/cluster.ts'
import { commandLineFor } from '../support/server/command-line.ts'
import { startTraffic, runOutage } from '../long/database-outage.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason

/** For the tests that stop and start its database. Others have a database of their own on the same server. */
let outageCluster: Cluster
if (skip === false) outageCluster = await sharedCluster(3)

describe('Database outages', () => {
  test(
    'PostgreSQL unavailable and killed – every request waits or gets 503; nothing is lost',
    { skip },
    async () => {
      const cluster = outageCluster
      const traffic = await startTraffic(cluster)
      traffic.clients.start(12)
      await runOutage(cluster, traffic, { ms: 5000, signal: 'SIGINT' })
      await runOutage(cluster, traffic, { ms: 0, signal: 'SIGKILL' })
      await traffic.verify()
    },
  )

  test(
    'Standby instead of the primary – counts as an outage; after promotion nothing is lost',
    { skip },
    async (t) => {
      let proxy: RetargetableProxy | null = null
      const databaseUrlFor = async (url: string): Promise<string> =>
        (proxy = await openRetargetableProxy(t, url)).url
      const cluster = await startCluster(t, 3, {}, { databaseUrlFor })
      const standby = await cluster.postgres.startStandby()
      t.after(() => standby.remove())
      const [primaryUrl, standbyUrl] = [cluster.url, standby.databaseUrl('postgres')]
      const traffic = await startTraffic(cluster)
      traffic.clients.start(12)
      // The address points to a read-only standby for a while, and then back.
      await runOutage(cluster, traffic, {
        ms: 1500,
        signal: 'SIGKILL',
        meanwhile: () => proxy?.retarget(standbyUrl),
        recover: () => {
          proxy?.retarget(primaryUrl)
          return cluster.postgres.start()
        },
      })
      const connections = await standby.query(
        "select application_name from pg_stat_activity where application_name like 'sluice%'",
      )
      assert.deepEqual(connections, [], 'no connection reads from the standby')
      await traffic.account.change({ name: 'Ada' })
      // Promote the standby.
      await runOutage(cluster, traffic, {
        ms: 1500,
        signal: 'SIGKILL',
        meanwhile: () => proxy?.retarget(standbyUrl),
        recover: () => standby.promote(),
      })
      await traffic.account.change({ name: 'Grace' })
      await traffic.verify()
    },
  )

  test('Failover that loses commits – no node keeps what they created', { skip }, async (t) => {
    const proxies: RetargetableProxy[] = []
    const databaseUrlFor = async (url: string): Promise<string> => {
      const proxy = await openRetargetableProxy(t, url)
      proxies.push(proxy)
      return proxy.url
    }
    const cluster = await startCluster(t, 2, { WORKERS: '2' }, { databaseUrlFor })
    const { server, nodes, postgres } = cluster
    const upstream = await addModel(cluster)
    const account = await server.account({ balance: '10' })
    const { secret: old } = account.key
    await waitUntilServed(cluster, old)
    await waitUntilApplied(cluster)
    const requestAll = async (secret: string, model = 'm'): Promise<number[]> =>
      Promise.all(
        nodes.map(async ({ url }) => {
          const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
          const body = JSON.stringify(chatRequest(model))
          const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
          await response.text()
          return response.status
        }),
      )
    assert.deepEqual(await requestAll(old), [200, 200])
    const standby = await postgres.startStandby()
    t.after(() => standby.remove())
    await standby.detachFrom(postgres)
    const newKey = await account.newKey()
    await server.model('new-model', { upstreams: [upstream], prices: modelPrices })
    await waitUntilServed(cluster, newKey.secret, 'new-model')
    await waitUntilApplied(cluster)
    assert.deepEqual(await requestAll(newKey.secret, 'new-model'), [200, 200])
    await postgres.stop('SIGKILL')
    for (const proxy of proxies) proxy.retarget(standby.databaseUrl('postgres'))
    await standby.promote()
    await waitUntil(async () => (await requestAll(old)).every((status) => status === 200))
    await waitUntil(async () => (await requestAll(newKey.secret)).every((status) => status === 401))
    await waitUntil(async () => (await requestAll(old, 'new-model')).every((status) => status === 404))
    assert.deepEqual(await requestAll(old), [200, 200])
    await server.assertNoOpenHolds()
  })

  test(
    'Every batch sent twice, responses lost – is unnoticed, nothing is lost or duplicated',
    { skip },
    async (t) => {
      const pipelines: RecordedPipeline[] = []
      let commits = 0
      const nextFault = (): CommitFault => {
        commits += 1
        if (commits % 7 === 0) return 'commit and drop'
        return commits % 11 === 0 ? 'drop' : 'pass'
      }
      const databaseUrlFor = (url: string): Promise<string> =>
        openFaultyProxy(t, url, nextFault, (pipeline) => pipelines.push(pipeline))
      const cluster = await startCluster(t, 3, {}, { postgres: outageCluster.postgres, databaseUrlFor })
      const traffic = await startTraffic(cluster)
      traffic.clients.start(12, 300)
      const calls = await traffic.clients.waitForAll()
      assert.deepEqual(
        calls.filter(({ isComplete }) => !isComplete),
        [],
      )
      // Settlements that a node queued on its disk, while a batch was lost, are still being written.
      await cluster.server.assertNoOpenHolds()
      const client = await openClient({ url: cluster.url, name: 'replay', statementMs: 20_000 })
      const outcomes = new Map<string, number>()
      for (const pipeline of pipelines) {
        const state = await replayPipeline(client, pipeline).then(
          () => 'accepted',
          (error: unknown) => sqlState(error) ?? String(error),
        )
        if (state !== 'accepted') await client.query('rollback')
        const kind = pipeline.isOfLedger ? `ledger: ${state}` : 'rejected requests'
        outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
      }
      await client.end()
      // Only unique violations: the journal has each batch, or another one in its place.
      assert.deepEqual([...outcomes.keys()], ['ledger: 23505'])
      assert.ok(pipelines.length > 50, `${pipelines.length} batches`)
      await traffic.verify()
    },
  )

  test('Rolling restart of three nodes under load – no request fails', { skip }, async (t) => {
    const cluster = await startCluster(t, 3, { DRAIN_DELAY: '1s' }, { postgres: outageCluster.postgres })
    const { nodes } = cluster
    const loadBalancer = await startLoadBalancer(
      t,
      nodes.map(({ url }) => url),
    )
    const traffic = await startTraffic(cluster, { urlOf: () => loadBalancer.url })
    traffic.clients.start(12)
    for (const [index, node] of nodes.entries()) {
      await traffic.clients.waitForCalls(traffic.clients.calls.length + 100)
      assert.equal((await node.stop()).code, 0)
      await cluster.restartNode(index)
    }
    await traffic.clients.waitForCalls(traffic.clients.calls.length + 100)
    const calls = await traffic.clients.stop()
    assert.deepEqual(
      calls.filter(({ isComplete }) => !isComplete),
      [],
    )
    await traffic.verify()
  })

  test(
    'Unconfirmed credit on the command line – names its idempotency key and credits once',
    { skip },
    async () => {
      const { server, postgres } = outageCluster
      const account = await server.account({ balance: '1' })
      const sluice = commandLineFor(server.relay)
      const credit = ['account', 'credit', account.id, '5', '--reason', 'invoice 4711']
      await postgres.stop('SIGKILL')
      const failure = await sluice.expectFailure(credit)
      const key = /may have been applied.* with (--idempotency-key) (\S+), which cannot credit twice/.exec(
        failure,
      )
      assert.ok(key, failure)
      await postgres.start()
      await waitUntil(async () => (await fetch(`${server.url}/readyz`)).status === 200)
      for (let attempt = 0; attempt < 2; attempt += 1)
        assert.equal(await sluice.output([...credit, ...key.slice(1)]), 'Credited 5. The balance is 6.\n')
      await server.assertNoOpenHolds()
    },
  )
})
