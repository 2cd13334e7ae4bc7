// @backend postgres – starts its own cluster
// @suite all – several nodes, leases and outages
/** State that all nodes share: failing upstreams, throttled guesses, health checks, the leader and its checks. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { broadcastChannelSql } from '../../src/db/postgres/change-feed.ts'
import { openClient, runScript } from '../../src/db/postgres/connection.ts'
import { jobLock } from '../../src/db/postgres/advisory-locks.ts'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { signInEndpoints } from '../../src/http/console/auth/sign-in.ts'
import { chatRequest } from '../support/server/account.ts'
import { ConsoleSession } from '../support/console/console-session.ts'
import {
  type Cluster,
  addModel,
  isLeader,
  sharedCluster,
  startCluster,
  waitUntilServed,
} from '../support/server/cluster.ts'
import { sendConcurrently, withStatus } from '../support/client/parallel-requests.ts'
import type { RelayProcess } from '../support/server/relay-process.ts'
import { respondWithError, respondWith } from '../support/upstream/scripted-responses.ts'
import type { UpstreamHealth } from '../support/server/upstream-health.ts'
import { scriptedDelay, waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason
/** On an idle machine, a state reaches the other nodes within a second. */
const maxPropagationMs = 20_000

let shared: Cluster
if (skip === false) shared = await sharedCluster(3)

/** The state of an upstream's only credential, as one node reports it. */
async function credentialState(node: RelayProcess, upstream: string): Promise<string> {
  const { data } = await node.admin<{ data: UpstreamHealth[] }>('GET', '/upstreams/health')
  return data.find((each) => each.upstream === upstream)?.credentials[0]?.state ?? 'unknown'
}

async function isStateEverywhere({ nodes }: Cluster, upstream: string, state: string): Promise<boolean> {
  const states = await Promise.all(nodes.map((node) => credentialState(node, upstream)))
  return states.every((each) => each === state)
}

async function expectStateEverywhere(cluster: Cluster, upstream: string, state: string): Promise<void> {
  const start = performance.now()
  while (!(await isStateEverywhere(cluster, upstream, state)))
    assert.ok(performance.now() - start < maxPropagationMs, `not ${state} everywhere`)
}

describe('Shared state', () => {
  test(
    'Upstream failing at one node – is skipped by all within a second, and recovers at all',
    { skip },
    async () => {
      const { server, nodes, postgres } = shared
      const bad = await server.upstream(respondWithError(401))
      const good = await server.upstream(respondWith('Hello!'))
      await server.model('failing', { upstreams: [bad, good] })
      const account = await server.account({ balance: '1' })
      await waitUntilServed(shared, account.key.secret, 'failing')
      const sendRequest = async (at: number): Promise<void> => {
        const outcomes = await sendConcurrently(account, nodes[at]?.url ?? '', chatRequest('failing'), 1)
        assert.equal(withStatus(outcomes, 200).length, 1)
      }
      await sendRequest(1)
      await expectStateEverywhere(shared, bad.id, 'open')

      bad.always(respondWith('Back!'))
      await waitUntil(async () => {
        await sendRequest(2)
        return (await credentialState(nodes[2] ?? server.relay, bad.id)) === 'closed'
      })
      await expectStateEverywhere(shared, bad.id, 'closed')

      // After a reconnect to the database, and for a node that was down.
      await postgres.stop()
      await postgres.start()
      await waitUntil(
        async () =>
          withStatus(await sendConcurrently(account, server.url, chatRequest('failing'), 1), 200).length ===
          1,
      )
      await Promise.all(nodes.map((node) => node.ready()))
      const third = nodes[2]
      await third?.kill()
      bad.always(respondWithError(401))
      await waitUntil(
        async () => (await credentialState(server.relay, bad.id)) === 'open' || (await sendRequest(0), false),
      )
      await shared.restartNode(2)
      await expectStateEverywhere(shared, bad.id, 'open')
      await server.assertNoOpenHolds()
    },
  )

  test('Invalid messages on the notification channel – have no effect', { skip }, async (t) => {
    const { server, nodes, url } = shared
    const bad = await server.upstream(respondWithError(401))
    const good = await server.upstream(respondWith('Hello!'))
    await server.model('notified', { upstreams: [bad, good] })
    const account = await server.account({ balance: '1' })
    await waitUntilServed(shared, account.key.secret, 'notified')
    const client = await openClient({ url, name: 'other client', statementMs: 20_000 })
    t.after(() => client.end())
    const texts = [
      'hello',
      '7',
      'null',
      '{"distrust":{}}',
      '{"news":[null]}',
      '{"news":[{}],"isNew":true}',
      '{"used":7}',
    ]
    for (const text of texts)
      await client.query(`select pg_notify(channel, $1) from (${broadcastChannelSql}) as words`, [text])
    // Valid messages are still processed afterwards.
    await sendConcurrently(account, nodes[1]?.url ?? '', chatRequest('notified'), 1)
    await expectStateEverywhere(shared, bad.id, 'open')
    assert.deepEqual(
      await Promise.all(nodes.map(async (node) => (await fetch(`${node.url}/readyz`)).status)),
      nodes.map(() => 200),
    )
    await server.assertNoOpenHolds()
  })

  test(
    'Idle upstream – is checked by one node, then by its successor; a used one is not idle',
    { skip },
    async () => {
      const { server, nodes } = shared
      const checked = { health_check_ms: 1000 }
      const idle = await server.upstream(respondWith('OK', { input: 10, output: 2 }), checked)
      const used = await server.upstream(respondWith('OK', { input: 10, output: 2 }), checked)
      await server.model('idle', { upstreams: [idle] })
      await server.model('used', { upstreams: [used] })
      const account = await server.account({ balance: '1' })
      await waitUntilServed(shared, account.key.secret, 'used')
      await waitUntil(() => idle.requests.length >= 1)
      const leaders = await Promise.all(nodes.map(isLeader))
      assert.equal(leaders.filter(Boolean).length, 1)
      const leader = leaders.indexOf(true)

      const other = nodes[(leader + 1) % 3]
      assert.ok(other)
      const countChecks = ({ requests }: typeof used): number =>
        requests.filter(({ text }) => text.includes('Answer with OK.')).length
      const before = countChecks(used)
      let pauses = 0
      while (idle.requests.length < 6) {
        const sentAt = performance.now()
        await sendConcurrently(account, other.url, chatRequest('used'), 1)
        await scriptedDelay(50)
        // On a busy machine requests are slow, and an upstream without requests is idle.
        if (performance.now() - sentAt > 300) pauses += 1
      }
      const checks = countChecks(used) - before
      assert.ok(checks <= 1 + pauses, `${checks} checks while it was in use`)
      assert.equal(idle.connections, 1, 'the checks use one connection')

      await nodes[leader]?.kill()
      const requestsBefore = idle.requests.length
      await waitUntil(() => idle.requests.length > requestsBefore + 1)
      await shared.restartNode(leader)
      await server.assertNoOpenHolds()
    },
  )

  test('Guesses at passwords and voucher codes – are throttled over all nodes', { skip }, async () => {
    const { server, nodes } = shared
    await addModel(shared, 'guessed')
    const [guesser, other] = [await server.account(), await server.account()]
    await waitUntilServed(shared, guesser.key.secret, 'guessed')
    const redeem = async (account: typeof guesser, at: number): Promise<number> => {
      const body = { code: `AAAA-BBBB-CCCC-DDDD-EE${at}` }
      const node = nodes[at % 3] ?? server.relay
      return (await node.adminResponse('POST', `/accounts/${account.id}/vouchers`, body)).status
    }
    for (let guess = 0; guess < 10; guess += 1) assert.equal(await redeem(guesser, guess), 404)
    for (const at of [0, 1, 2]) assert.equal(await redeem(guesser, at), 429)
    assert.equal(await redeem(other, 1), 404)

    const signIn = async (at: number): Promise<number> => {
      const body = { email: 'nobody@example.com', password: 'a guess at random' }
      const session = new ConsoleSession(nodes[at % 3]?.url ?? server.url)
      return (await session.expectError(signInEndpoints.signIn, { body })).status
    }
    for (let guess = 0; guess < 10; guess += 1) assert.equal(await signIn(guess), 401)
    for (const at of [0, 1, 2]) assert.equal(await signIn(at), 429)
    await server.assertNoOpenHolds()
  })

  test(
    'Inconsistent ledger – is detected by the leader and halts admission on every node',
    { skip },
    async (t) => {
      const cluster = await startCluster(t, 2, {}, { postgres: shared.postgres })
      const { server, nodes, url } = cluster
      await addModel(cluster)
      const account = await server.account({ balance: '1' })
      await waitUntilServed(cluster, account.key.secret)
      const changeBalance = async (nanos: number, readyStatuses: readonly number[]): Promise<void> => {
        await Promise.all(nodes.map((node) => node.stop()))
        const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
        await runScript(
          client,
          `update owners set balance_nanos = balance_nanos + ${nanos} where id = 'a:${account.id}'`,
        )
        await client.end()
        await Promise.all([...nodes.keys()].map((index) => cluster.restartNode(index, {}, readyStatuses)))
      }
      const statuses = async (path: string): Promise<number[]> =>
        Promise.all(nodes.map(async (node) => (await fetch(`${node.url}${path}`)).status))
      // The first node may detect it before the second one starts.
      await changeBalance(5, [200, 503])
      const hasLoggedProblem = ({ lines }: RelayProcess): boolean =>
        lines.join('\n').includes('ledger mismatch: admission halted')
      await waitUntil(() => nodes.every(hasLoggedProblem))
      await waitUntil(async () => (await statuses('/readyz')).every((status) => status === 503))
      for (const node of nodes) {
        const outcomes = await sendConcurrently(account, node.url, chatRequest('m'), 1)
        assert.equal(withStatus(outcomes, 503).length, 1)
      }
      await changeBalance(-5, [200])
      assert.deepEqual(await statuses('/readyz'), [200, 200])
      await server.assertNoOpenHolds()
    },
  )

  test(
    'Node whose jobs block longer than its lease – loses the lead to the next node',
    { skip },
    async (t) => {
      const { server, nodes, url } = shared
      const leaders = (): Promise<boolean[]> => Promise.all(nodes.map(isLeader))
      let first = -1
      await waitUntil(async () => (first = (await leaders()).indexOf(true)) >= 0)
      const blocker = await openClient({ url, name: 'blocker', statementMs: 60_000 })
      t.after(() => blocker.end())
      await blocker.query(`set idle_in_transaction_session_timeout = 0; begin; ${jobLock}`)
      await waitUntil(async () => {
        const current = await leaders()
        return current.includes(true) && current[first] === false
      })
      await blocker.query('rollback')
      await server.assertNoOpenHolds()
    },
  )
})
