/** Several nodes over one PostgreSQL: money, changes and failures that concern more than one of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { newSecret } from '../src/accounts/key-secret.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { nanosOf } from '../src/lib/money.ts'
import { openDeafWay, type DeafWay } from '../src/server/cluster/ledger/faulty-connection.fixture.ts'
import { question } from './support/server/account.ts'
import { refusalIn } from './support/client/responses.ts'
import { openCluster, served, until, withModel } from './cluster.ts'
import { onThisMachine } from './machine.ts'
import { pausingAfter, waitingFor } from './support/upstream/fault-injection.ts'
import {
  callMany,
  costOfAll,
  neverBelowZero,
  withStatus,
  type Outcome,
} from './support/client/parallel-requests.ts'
import { saying, sayingMany } from './support/upstream/scripted-responses.ts'

const skip = withoutPostgres

test(
  '300 callers at once over three nodes that start together against a balance for 10 requests: never overspent',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3)
    const { house, nodes } = cluster
    const upstream = await withModel(cluster)
    upstream.always(saying('Hello!', { input: 10, output: 500 }))
    const account = await house.account({ balance: '0.04025' })
    await served(cluster, account.key.secret)
    const asked = question('m', { max_tokens: 500 })
    const calls = nodes.map(({ url }) => callMany(account, url, asked, 100))
    const outcomes = (await neverBelowZero(account, Promise.all(calls))).flat()
    assert.equal(withStatus(outcomes, 200).length + withStatus(outcomes, 402).length, 300)
    const cost = await costOfAll(account)
    assert.ok(cost <= nanosOf('0.04025'), `${cost}`)
    assert.equal(nanosOf(await account.balance()), nanosOf('0.04025') - cost)
    assert.ok(withStatus(outcomes, 200).length >= 9)
    await house.nothingHeld()
  },
)

test(
  'a node that nobody asks finds out that the database is away; meanwhile a key that it does not know is 503, and what is no key is 401',
  { skip },
  async (t) => {
    const { postgres, nodes } = await openCluster(t, 1)
    const ask = async (secret: string): Promise<[number, boolean]> => {
      const headers = { authorization: `Bearer ${secret}` }
      const reply = await fetch(`${nodes[0]?.url}/v1/models`, { headers })
      await reply.body?.cancel()
      return [reply.status, reply.headers.has('retry-after')]
    }
    const unknown = newSecret()
    assert.deepEqual(await ask(unknown), [401, false])
    await postgres.stop()
    // Nobody has asked for anything that needs it.
    await until(async () => (await fetch(`${nodes[0]?.url}/readyz`)).status === 503)
    assert.deepEqual(await ask('sk-slu-nothing'), [401, false])
    await until(async () => (await ask(unknown))[0] === 503)
    assert.deepEqual(await ask(unknown), [503, true])
    await postgres.start()
    await until(async () => (await fetch(`${nodes[0]?.url}/readyz`)).status === 200)
    await until(async () => (await ask(unknown))[0] === 401)
  },
)

test(
  'a credit, a price, a cap and a revocation on one node are honoured by another within a second, also where no change has a way to it',
  { skip },
  async (t) => {
    let way: DeafWay | undefined
    const cluster = await openCluster(t, 2, {}, async (url) => {
      way = await openDeafWay(t, url)
      return way.url
    })
    const { house, nodes } = cluster
    await withModel(cluster)
    const account = await house.account({ balance: '0.0000001' })
    const other = nodes[1]
    assert.ok(other)
    await served(cluster, account.key.secret)
    const ask = async (): Promise<Outcome> => {
      const [outcome] = await callMany(account, other.url, question('m', { max_tokens: 20 }), 1)
      assert.ok(outcome)
      return outcome
    }
    const withinASecond = async (holds: (outcome: Outcome) => boolean): Promise<void> => {
      const start = performance.now()
      while (!holds(await ask()))
        assert.ok(performance.now() - start < onThisMachine(1000), 'it took longer than a second')
    }
    assert.equal((await ask()).status, 402)
    await account.credit('1')
    assert.equal((await ask()).status, 200)
    await house.admin('PATCH', '/models/m', { prices: { input: '0.004', output: '0.016' } })
    await withinASecond(({ headers }) => headers['x-sluice-cost'] === '0.00012')
    await account.change({ caps: { daily: '0' } })
    await withinASecond(({ status, code }) => status === 402 && code === 'spend_cap_exceeded')
    await account.change({ caps: { daily: null } })
    await withinASecond(({ status }) => status === 200)
    await house.admin('DELETE', `/keys/${account.key.id}`)
    await withinASecond(({ status }) => status === 401)

    // The network forgets the connection, and tells nobody: whoever comes a second later waits for another.
    const again = await account.newKey()
    await served(cluster, again.secret)
    way?.deafen('changes')
    await house.admin('DELETE', `/keys/${again.id}`)
    await delay(1100)
    assert.notEqual((await ask()).status, 200)
    await until(async () => (await ask()).status === 401)
    await house.nothingHeld()
  },
)

test(
  'a node that is killed comes back and ends its streams at their marks; the others go on meanwhile, and ask nothing twice for it',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret)
    const killed = nodes[1]
    assert.ok(killed)
    upstream.next(pausingAfter(200, new Promise(() => undefined), sayingMany(1000)))
    const [asked, headers] = [question('m', { stream: true }), { 'idempotency-key': 'once' }]
    const reply = await fetch(`${killed.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${account.key.secret}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(asked),
    })
    let events = 0
    const reader = reply.body?.getReader()
    assert.ok(reader)
    // More than the 64 tokens that may be on their way without a mark.
    while (events < 150) {
      const { value } = (await reader.read()) as { value?: Uint8Array }
      events +=
        Buffer.from(value ?? [])
          .toString()
          .split('data: ').length - 1
    }
    await killed.kill()
    await reader.cancel().catch(() => undefined)
    assert.ok(nanosOf(await account.held()) > 0n)
    assert.equal((await account.post(question('m'))).status, 200)
    // It may still be answered, for all that the other node knows.
    assert.equal((await account.post(asked, { headers })).status, 409)
    await cluster.again(1)
    await house.nothingHeld()
    const [broken] = await account.requests({ outcome: 'ended' })
    assert.ok(broken && broken.completion_tokens > 0 && nanosOf(broken.cost) > 0n)
    const repeated = await account.post(asked, { headers })
    assert.deepEqual([repeated.status, repeated.headers.get('x-should-retry')], [409, 'false'])
    assert.match(await repeated.text(), new RegExp(broken.request_id))
    assert.equal(upstream.requests.length, 2)
  },
)

test(
  'without its database a node refuses with 503, finishes what runs, and settles it once when it is back',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes, postgres } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret)
    const word = Promise.withResolvers<void>()
    const running = Array.from({ length: 6 }, (_, index) => {
      const script = saying('Later.', { input: 10, output: 5 })
      upstream.next(
        index % 2 === 0 ? waitingFor(word.promise, script) : pausingAfter(0, word.promise, script),
      )
      const url = nodes[index % 2]?.url ?? ''
      return callMany(account, url, question('m', { stream: index % 2 === 1 }), 1)
    })
    await until(() => upstream.requests.length === 6)
    await postgres.stop()
    const keyed = account.post(question('m'), { headers: { 'idempotency-key': 'while-it-is-away' } })
    for (const { url } of nodes) {
      await until(async () => {
        const [outcome] = await callMany(account, url, question('m'), 1)
        assert.notEqual(outcome?.status, 401)
        return outcome?.status === 503 && outcome.headers['retry-after'] !== undefined
      })
      await until(async () => (await fetch(`${url}/readyz`)).status === 503)
      const asked = (path: string, key: string): Promise<Response> =>
        fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
      const ofOperators = ['nodes', 'ledger/verify', 'requests.csv?day=2026-11-22', 'accounts']
      const replies = await Promise.all([
        asked('/v1/balance', account.key.secret),
        ...ofOperators.map((path) => asked(`/api/admin/${path}`, house.relay.adminKey)),
      ])
      for (const reply of replies)
        assert.deepEqual(
          [reply.status, (await refusalIn(reply)).code],
          [503, 'service_unavailable'],
          reply.url,
        )
    }
    assert.equal((await keyed).status, 503)
    word.resolve()
    const outcomes = (await Promise.all(running)).flat()
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      [200, 200, 200, 200, 200, 200],
    )
    await postgres.start()
    const back = performance.now()
    for (const { url } of nodes) {
      await until(async () => withStatus(await callMany(account, url, question('m'), 1), 200).length === 1)
    }
    assert.ok(performance.now() - back < onThisMachine(3000), 'service was not back within 3 s')
    await house.nothingHeld()
    const records = await account.requests({ outcome: 'ok' })
    assert.equal(new Set(records.map(({ request_id }) => request_id)).size, 8)
    assert.equal(nanosOf(await account.balance()), nanosOf('1') - (await costOfAll(account)))
  },
)

test('settlements that waited on a node’s disk survive its end', { skip }, async (t) => {
  const cluster = await openCluster(t, 2)
  const { house, nodes, postgres } = cluster
  const upstream = await withModel(cluster)
  const account = await house.account({ balance: '1' })
  await served(cluster, account.key.secret)
  const node = nodes[1]
  assert.ok(node)
  const word = Promise.withResolvers<void>()
  upstream.next(waitingFor(word.promise, saying('Later.', { input: 100, output: 50 })))
  const running = callMany(account, node.url, question('m'), 1)
  await until(() => upstream.requests.length === 1)
  await postgres.stop('SIGQUIT')
  word.resolve()
  const [outcome] = await running
  assert.equal(outcome?.status, 200)
  await node.kill()
  await postgres.start()
  await cluster.again(1)
  await house.nothingHeld()
  assert.equal(nanosOf(await account.balance()), nanosOf('1') - 100n * 2000n - 50n * 8000n)
})

test(
  'a node that starts before its database says 503 to all, never 401, and serves when it is there',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 1)
    const { house, nodes, postgres } = cluster
    await withModel(cluster)
    const account = await house.account({ balance: '1' })
    const [node] = nodes
    assert.ok(node)
    await node.kill()
    await postgres.stop()
    const starting = cluster.again(0)
    const statusOf = async (path: string): Promise<number> => {
      const headers = { authorization: `Bearer ${account.key.secret}` }
      return fetch(`${node.url}${path}`, { headers }).then(
        ({ status }) => status,
        () => 0,
      )
    }
    await until(async () => (await statusOf('/healthz')) === 200)
    assert.equal(await statusOf('/readyz'), 503)
    assert.equal(await statusOf('/v1/models'), 503)
    await postgres.start()
    await starting
    assert.equal((await account.post(question('m'))).status, 200)
    await house.nothingHeld()
  },
)
