// @backend postgres – starts its own cluster
/** Two nodes over one PostgreSQL: the balance that they share, and changes that reach the other node. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { parseAmount } from '../../src/lib/money.ts'
import {
  openBlackholeProxy,
  type BlackholeProxy,
} from '../../src/engine/postgres/faulty-connection.fixture.ts'
import { chatRequest } from '../support/server/account.ts'
import type { RelayProcess } from '../support/server/relay-process.ts'
import {
  type Cluster,
  addModel,
  sharedCluster,
  showObedience,
  waitUntilServed,
} from '../support/server/cluster.ts'
import {
  sendConcurrently,
  totalCost,
  assertNeverNegative,
  withStatus,
  type CallResult,
} from '../support/client/parallel-requests.ts'
import { respondWithin } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason
/** On an idle machine, a change reaches the other nodes within a second. */
const maxPropagationMs = 20_000
/** A node that has not heard from the database for a second does not admit requests. */
const staleMs = 1100

let cluster: Cluster
let proxy: BlackholeProxy | undefined
if (skip === false)
  cluster = await sharedCluster(
    2,
    {},
    {
      async databaseUrlFor(url) {
        proxy = await openBlackholeProxy({ after }, url)
        return proxy.url
      },
    },
  )

describe('Two nodes', () => {
  test('60 concurrent requests over two nodes – never overspend the balance', { skip }, async () => {
    const { server, nodes } = cluster
    const upstream = await addModel(cluster, 'shared')
    await showObedience(cluster, 'shared', upstream)
    upstream.always(respondWithin({ input: 10, output: 500 }))
    const balance = '0.04025'
    const account = await server.account({ balance })
    await waitUntilServed(cluster, account.key.secret, 'shared')
    const body = chatRequest('shared', { max_tokens: 500 })
    const calls = nodes.map(({ url }) => sendConcurrently(account, url, body, 30))
    const outcomes = (await assertNeverNegative(account, Promise.all(calls))).flat()
    assert.equal(withStatus(outcomes, 200).length + withStatus(outcomes, 402).length, 60)
    assert.ok(withStatus(outcomes, 200).length >= 9)
    const cost = await totalCost(account)
    assert.ok(cost <= parseAmount(balance), `${cost}`)
    assert.equal(parseAmount(await account.balance()), parseAmount(balance) - cost)
    await server.assertNoOpenHolds()
  })

  test('One Idempotency-Key at both nodes – creates one voucher', { skip }, async () => {
    const { server, nodes } = cluster
    const create = ({ url, adminKey }: RelayProcess): Promise<Response> =>
      fetch(`${url}/api/admin/vouchers`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${adminKey}`,
          'content-type': 'application/json',
          'idempotency-key': 'both',
        },
        body: JSON.stringify({ amount: '1', count: 1 }),
      })
    const responses = await Promise.all(
      nodes.flatMap((node) => Array.from({ length: 10 }, () => create(node))),
    )
    const bodies = await Promise.all(responses.map((response) => response.text()))
    const created = bodies.filter((_, index) => responses[index]?.status === 201)
    assert.equal(new Set(created).size, 1)
    assert.ok(responses.every(({ status }) => status === 201 || status === 409))
    for (const node of nodes) assert.equal(await (await create(node)).text(), created[0])
    assert.equal((await server.admin<{ data: object[] }>('GET', '/vouchers')).data.length, 1)
  })

  test('Credit, price, cap and revocation – apply on another node within a second', { skip }, async () => {
    const { server, nodes } = cluster
    await addModel(cluster)
    const account = await server.account({ balance: '0.0000001' })
    const other = nodes[1]
    assert.ok(other)
    await waitUntilServed(cluster, account.key.secret)
    const sendRequest = async (): Promise<CallResult> => {
      const [outcome] = await sendConcurrently(account, other.url, chatRequest('m', { max_tokens: 20 }), 1)
      assert.ok(outcome)
      return outcome
    }
    const expectWithinSecond = async (condition: (outcome: CallResult) => boolean): Promise<void> => {
      const start = performance.now()
      while (!condition(await sendRequest()))
        assert.ok(performance.now() - start < maxPropagationMs, 'it took too long')
    }
    assert.equal((await sendRequest()).status, 402)
    await account.credit('1')
    assert.equal((await sendRequest()).status, 200)
    await server.admin('PATCH', '/models/m', { prices: { input: '0.004', output: '0.016' } })
    await expectWithinSecond(({ headers }) => headers['x-sluice-cost'] === '0.00012')
    await account.change({ caps: { daily: '0' } })
    await expectWithinSecond(({ status, code }) => status === 402 && code === 'spend_cap_exceeded')
    await account.change({ caps: { daily: null } })
    await expectWithinSecond(({ status }) => status === 200)
    await server.admin('DELETE', `/keys/${account.key.id}`)
    await expectWithinSecond(({ status }) => status === 401)

    // The network drops the connection silently: after a second the node waits for a new one.
    const newKey = await account.newKey()
    await waitUntilServed(cluster, newKey.secret)
    proxy?.blackhole('changes')
    await server.admin('DELETE', `/keys/${newKey.id}`)
    await waitUntil(async () => (await sendRequest()).status !== 200, 'the stale node to refuse', staleMs)
    await waitUntil(async () => (await sendRequest()).status === 401)
    await server.assertNoOpenHolds()
  })
})
