// @backend postgres – starts its own cluster
// @suite all – many nodes, and outages of the database
/** Several nodes over one PostgreSQL: balances and failures that affect more than one node. Each test leaves all running. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateSecret } from '../../src/accounts/key-secret.ts'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { parseAmount } from '../../src/lib/money.ts'
import { chatRequest } from '../support/server/account.ts'
import { readError } from '../support/client/responses.ts'
import {
  type Cluster,
  addModel,
  sharedCluster,
  showObedience,
  waitUntilServed,
} from '../support/server/cluster.ts'
import { pauseAfter, waitFor } from '../support/upstream/fault-injection.ts'
import {
  sendConcurrently,
  totalCost,
  assertNeverNegative,
  withStatus,
} from '../support/client/parallel-requests.ts'
import { respondWith, respondWithDeltas, respondWithin } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason
/** On an idle machine, requests succeed 3 s after the database is available again. */
const maxRecoveryMs = 30_000

let cluster: Cluster
if (skip === false) cluster = await sharedCluster(3)

describe('Cluster nodes', () => {
  test('300 concurrent requests over three nodes – never overspend the balance', { skip }, async () => {
    const { server, nodes } = cluster
    const upstream = await addModel(cluster, 'overspent')
    await showObedience(cluster, 'overspent', upstream)
    upstream.always(respondWithin({ input: 10, output: 500 }))
    const account = await server.account({ balance: '0.04025' })
    await waitUntilServed(cluster, account.key.secret, 'overspent')
    const body = chatRequest('overspent', { max_tokens: 500 })
    const calls = nodes.map(({ url }) => sendConcurrently(account, url, body, 100))
    const outcomes = (await assertNeverNegative(account, Promise.all(calls))).flat()
    assert.equal(withStatus(outcomes, 200).length + withStatus(outcomes, 402).length, 300)
    const cost = await totalCost(account)
    assert.ok(cost <= parseAmount('0.04025'), `${cost}`)
    assert.equal(parseAmount(await account.balance()), parseAmount('0.04025') - cost)
    assert.ok(withStatus(outcomes, 200).length >= 9)
    await server.assertNoOpenHolds()
  })

  test('Idle node – detects the outage; unknown keys get 503, malformed ones 401', { skip }, async () => {
    const { postgres, nodes } = cluster
    const listModels = async (secret: string): Promise<[number, boolean]> => {
      const headers = { authorization: `Bearer ${secret}` }
      const response = await fetch(`${nodes[0]?.url}/v1/models`, { headers })
      await response.body?.cancel()
      return [response.status, response.headers.has('retry-after')]
    }
    const unknown = generateSecret()
    assert.deepEqual(await listModels(unknown), [401, false])
    await postgres.stop()
    // No request has needed the database.
    await waitUntil(async () => (await fetch(`${nodes[0]?.url}/readyz`)).status === 503)
    assert.deepEqual(await listModels('sk-slu-nothing'), [401, false])
    await waitUntil(async () => (await listModels(unknown))[0] === 503)
    assert.deepEqual(await listModels(unknown), [503, true])
    await postgres.start()
    await waitUntil(async () => (await fetch(`${nodes[0]?.url}/readyz`)).status === 200)
    await waitUntil(async () => (await listModels(unknown))[0] === 401)
  })

  test(
    'Killed node – ends its streams at their marks when it returns; others continue',
    { skip },
    async () => {
      const { server, nodes } = cluster
      const upstream = await addModel(cluster, 'killed')
      const account = await server.account({ balance: '1' })
      await waitUntilServed(cluster, account.key.secret, 'killed')
      const killed = nodes[1]
      assert.ok(killed)
      upstream.next(pauseAfter(200, new Promise(() => undefined), respondWithDeltas(1000)))
      const [body, headers] = [chatRequest('killed', { stream: true }), { 'idempotency-key': 'once' }]
      const response = await fetch(`${killed.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          ...headers,
          authorization: `Bearer ${account.key.secret}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      })
      let events = 0
      const reader = response.body?.getReader()
      assert.ok(reader)
      // More than the 64 tokens that may be delivered without a mark.
      while (events < 150) {
        const { value } = (await reader.read()) as { value?: Uint8Array }
        events +=
          Buffer.from(value ?? [])
            .toString()
            .split('data: ').length - 1
      }
      await killed.kill()
      await reader.cancel().catch(() => undefined)
      assert.ok(parseAmount(await account.held()) > 0n)
      assert.equal((await account.post(chatRequest('killed'))).status, 200)
      // As far as the other node knows, the request is still running.
      assert.equal((await account.post(body, { headers })).status, 409)
      await cluster.restartNode(1)
      await server.assertNoOpenHolds()
      const [interrupted] = await account.requests({ outcome: 'ended' })
      assert.ok(interrupted && interrupted.completion_tokens > 0 && parseAmount(interrupted.cost) > 0n)
      const repeated = await account.post(body, { headers })
      assert.deepEqual([repeated.status, repeated.headers.get('x-should-retry')], [409, 'false'])
      assert.match(await repeated.text(), new RegExp(interrupted.request_id))
      assert.equal(upstream.requests.length, 2)
    },
  )

  test(
    'Node without its database – returns 503, finishes running requests and settles them once',
    { skip },
    async () => {
      const { server, nodes, postgres } = cluster
      const upstream = await addModel(cluster, 'outage')
      const account = await server.account({ balance: '1' })
      await waitUntilServed(cluster, account.key.secret, 'outage')
      const resume = Promise.withResolvers<void>()
      const running = Array.from({ length: 6 }, (_, index) => {
        const script = respondWith('Later.', { input: 10, output: 5 })
        upstream.next(
          index % 2 === 0 ? waitFor(resume.promise, script) : pauseAfter(0, resume.promise, script),
        )
        const url = nodes[index % 2]?.url ?? ''
        return sendConcurrently(account, url, chatRequest('outage', { stream: index % 2 === 1 }), 1)
      })
      await waitUntil(() => upstream.requests.length === 6)
      await postgres.stop()
      const keyed = account.post(chatRequest('outage'), {
        headers: { 'idempotency-key': 'during-the-outage' },
      })
      for (const { url } of nodes) {
        await waitUntil(async () => {
          const [outcome] = await sendConcurrently(account, url, chatRequest('outage'), 1)
          assert.notEqual(outcome?.status, 401)
          return outcome?.status === 503 && outcome.headers['retry-after'] !== undefined
        })
        await waitUntil(async () => (await fetch(`${url}/readyz`)).status === 503)
        const getPath = (path: string, key: string): Promise<Response> =>
          fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
        const adminPaths = ['nodes', 'ledger/verify', 'requests.csv?day=2026-11-22', 'accounts']
        const responses = await Promise.all([
          getPath('/v1/balance', account.key.secret),
          ...adminPaths.map((path) => getPath(`/api/admin/${path}`, server.relay.adminKey)),
        ])
        for (const response of responses)
          assert.deepEqual(
            [response.status, (await readError(response)).code],
            [503, 'service_unavailable'],
            response.url,
          )
      }
      assert.equal((await keyed).status, 503)
      resume.resolve()
      const outcomes = (await Promise.all(running)).flat()
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        [200, 200, 200, 200, 200, 200],
      )
      await postgres.start()
      for (const { url } of nodes) {
        await waitUntil(
          async () =>
            withStatus(await sendConcurrently(account, url, chatRequest('outage'), 1), 200).length === 1,
          'the recovery',
          maxRecoveryMs,
        )
      }
      await server.assertNoOpenHolds()
      const records = await account.requests({ outcome: 'ok' })
      assert.equal(new Set(records.map(({ request_id }) => request_id)).size, 6 + nodes.length)
      assert.equal(parseAmount(await account.balance()), parseAmount('1') - (await totalCost(account)))
    },
  )

  test('Settlements queued on a node’s disk – survive kill -9', { skip }, async () => {
    const { server, nodes, postgres } = cluster
    const upstream = await addModel(cluster, 'queued')
    const account = await server.account({ balance: '1' })
    await waitUntilServed(cluster, account.key.secret, 'queued')
    const node = nodes[1]
    assert.ok(node)
    const resume = Promise.withResolvers<void>()
    upstream.next(waitFor(resume.promise, respondWith('Later.', { input: 100, output: 50 })))
    const running = sendConcurrently(account, node.url, chatRequest('queued'), 1)
    await waitUntil(() => upstream.requests.length === 1)
    await postgres.stop('SIGQUIT')
    resume.resolve()
    const [outcome] = await running
    assert.equal(outcome?.status, 200)
    await node.kill()
    await postgres.start()
    await cluster.restartNode(1)
    await Promise.all(nodes.map((each) => each.ready()))
    await server.assertNoOpenHolds()
    assert.equal(parseAmount(await account.balance()), parseAmount('1') - 100n * 2000n - 50n * 8000n)
  })

  test(
    'Node started before its database – returns 503, never 401, until it is available',
    { skip },
    async () => {
      const { server, nodes, postgres } = cluster
      await addModel(cluster, 'late')
      const account = await server.account({ balance: '1' })
      const [node] = nodes
      assert.ok(node)
      await node.kill()
      await postgres.stop()
      const starting = cluster.restartNode(0)
      const requestStatus = async (path: string): Promise<number> => {
        const headers = { authorization: `Bearer ${account.key.secret}` }
        return fetch(`${node.url}${path}`, { headers }).then(
          ({ status }) => status,
          () => 0,
        )
      }
      await waitUntil(async () => (await requestStatus('/healthz')) === 200)
      assert.equal(await requestStatus('/readyz'), 503)
      assert.equal(await requestStatus('/v1/models'), 503)
      await postgres.start()
      await starting
      assert.equal((await account.post(chatRequest('late'))).status, 200)
      await server.assertNoOpenHolds()
    },
  )
})
