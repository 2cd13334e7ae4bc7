// @backend postgres – starts its own cluster
// @suite all – frozen and killed nodes
/** Nodes that are lost, retired, drained or duplicated, and limits that all nodes share. */
import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { after, describe, test } from 'node:test'
import { openClient, runScript } from '../../src/db/postgres/connection.ts'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { parseAmount } from '../../src/lib/money.ts'
import { startRedis, redisSkipReason, type RedisServer } from '../../src/shared/redis.fixture.ts'
import { chatRequest, type Account } from '../support/server/account.ts'
import {
  type Cluster,
  addModel,
  sharedCluster,
  startCluster,
  waitUntilApplied,
  waitUntilServed,
} from '../support/server/cluster.ts'
import { CommandLine, commandLineFor } from '../support/server/command-line.ts'
import { pauseAfter, waitFor } from '../support/upstream/fault-injection.ts'
import { sendConcurrently, totalCost, withStatus } from '../support/client/parallel-requests.ts'
import { startRelay } from '../support/server/relay-process.ts'
import { respondWith, respondWithDeltas } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason === false ? redisSkipReason : postgresSkipReason

let redis: RedisServer
/** For the tests that leave its nodes running, and, in the end, for those that stop Redis and a node. */
let shared: Cluster
if (skip === false) {
  redis = await startRedis()
  after(() => redis.stop())
  shared = await sharedCluster(3, { REDIS_URL: redis.url })
}

interface NodeState {
  id: string
  state: string
  open_holds: number
}

const listNodes = async ({ server }: Cluster): Promise<NodeState[]> =>
  (await server.admin<{ data: NodeState[] }>('GET', '/nodes')).data

async function isAdmitted(account: Account, url: string, model: string): Promise<boolean> {
  return withStatus(await sendConcurrently(account, url, chatRequest(model), 1), 200).length === 1
}

describe('Retired nodes', () => {
  test(
    'Retired node – is charged at its last uploaded mark; later bills are entered once',
    { skip },
    async () => {
      const { server, nodes, url } = shared
      const upstream = await addModel(shared, 'retired')
      const account = await server.account({ balance: '1' })
      const frozen = nodes[1]
      assert.ok(frozen)
      await waitUntil(() => isAdmitted(account, frozen.url, 'retired'))
      const resume = Promise.withResolvers<void>()
      upstream.next(pauseAfter(200, resume.promise, respondWithDeltas(400, { input: 10, output: 400 })))
      upstream.next(waitFor(resume.promise, respondWith('Late.', { input: 10, output: 50 })))
      const stream = sendConcurrently(account, frozen.url, chatRequest('retired', { stream: true }), 1)
      await waitUntil(() => upstream.requests.length === 2)
      const nonStreaming = sendConcurrently(account, frozen.url, chatRequest('retired'), 1)
      await waitUntil(
        async () =>
          upstream.requests.length === 3 && (await listNodes(shared)).some((node) => node.open_holds === 2),
      )
      const client = await openClient({ url, name: 'observer', statementMs: 20_000 })
      const uploadedSql = 'select 1 from holds where mark_output > 0'
      await waitUntil(async () => (await runScript(client, uploadedSql))[0]?.length === 1)
      await client.end()
      frozen.signal('SIGSTOP')
      const other = (await listNodes(shared)).find(({ open_holds }) => open_holds === 2)
      const result = await server.admin<{ settled: number }>('POST', `/nodes/${other?.id}/retire`)
      assert.equal(result.settled, 2)
      assert.equal(parseAmount(await account.held()), 0n)
      const readMetrics = async () => (await fetch(`${server.url}/metrics`)).text()
      await waitUntil(async () => /^sluice_cluster_open_holds 0$/m.test(await readMetrics()))
      const charged = await totalCost(account)
      assert.ok(charged > 0n)
      frozen.signal('SIGCONT')
      resume.resolve()
      await Promise.all([stream, nonStreaming])
      await waitUntil(async () => (await listNodes(shared)).every(({ state }) => state === 'running'))
      // The full cost of both, less what was charged at the mark of the stream; the first request is separate.
      const inFull = 2n * 10n * 2000n + 450n * 8000n
      const first = 10n * 2000n + 5n * 8000n
      // Charged, or overrun while the nodes are of a release that does not charge them.
      await waitUntil(async () => {
        const overrun = parseAmount((await server.verify()).overrun)
        return parseAmount('1') - parseAmount(await account.balance()) + overrun === inFull + first
      })
      await server.assertNoOpenHolds()
    },
  )
})

describe('Rate limits of a cluster', () => {
  test(
    'Rate limit over three nodes – is exact with Redis; without it each node has its share',
    { skip },
    async () => {
      const { server, nodes } = shared
      await addModel(shared, 'limited')
      const account = await server.account({ balance: '1' })
      for (const { url } of nodes) await waitUntil(() => isAdmitted(account, url, 'limited'))
      const limited = await server.account({ balance: '1' })
      await limited.change({ limits: { rpm: 60 } })
      await waitUntilApplied(shared, 'limited')
      const sendToAll = (from: typeof account, count: number) =>
        Promise.all(
          nodes.map(({ url }) =>
            sendConcurrently(from, url, chatRequest('limited', { max_tokens: 5 }), count),
          ),
        )
      const outcomes = (await sendToAll(limited, 67)).flat()
      assert.equal(withStatus(outcomes, 200).length, 60)
      assert.equal(withStatus(outcomes, 429).length, 141)
      const areRatesShared = async (): Promise<boolean[]> =>
        Promise.all(
          nodes.map(async (node) => {
            const response = await fetch(`${node.url}/metrics`, {
              headers: { authorization: `Bearer ${node.adminKey}` },
            })
            return /^sluice_rates_shared 1$/m.test(await response.text())
          }),
        )
      assert.deepEqual(await areRatesShared(), [true, true, true])
      const doctor = async (): Promise<string> =>
        (await commandLineFor(server.relay).run(['doctor', '--no-calls'])).output
      assert.match(await doctor(), /^ok +rates +Redis [\d.]+ at 127\.0\.0\.1:\d+ is reachable$/m)
      await redis.stop()
      await waitUntil(async () => (await areRatesShared()).every((isShared) => !isShared))
      for (const { lines } of nodes)
        await waitUntil(() => lines.some((line) => /"why":"REDIS_URL: .*"msg":"Redis unavailable/.test(line)))
      assert.match(await doctor(), /^warn +rates +Redis at 127\.0\.0\.1:\d+ is unreachable \(REDIS_URL: /m)
      const other = await server.account({ balance: '1' })
      await other.change({ limits: { rpm: 30 } })
      await waitUntilApplied(shared, 'limited')
      const alone = await sendToAll(other, 20)
      assert.deepEqual(
        alone.map((each) => withStatus(each, 200).length),
        [10, 10, 10],
      )
      await server.assertNoOpenHolds()
    },
  )
})

describe('Draining a node', () => {
  test(
    'Node stopped with 100 open streams – /readyz fails at once and all streams finish',
    { skip },
    async () => {
      const { server, nodes } = shared
      const upstream = await addModel(shared, 'drained')
      const account = await server.account({ balance: '1' })
      await waitUntilServed(shared, account.key.secret, 'drained')
      const ending = nodes[2]
      assert.ok(ending)
      const resume = Promise.withResolvers<void>()
      upstream.always(pauseAfter(5, resume.promise, respondWithDeltas(20, { input: 10, output: 20 })))
      const running = sendConcurrently(account, ending.url, chatRequest('drained', { stream: true }), 100)
      await waitUntil(() => upstream.inFlight === 100)
      const exit = ending.stop()
      await waitUntil(
        async () =>
          (await fetch(`${ending.url}/readyz`).then(
            ({ status }) => status,
            () => 503,
          )) === 503,
      )
      resume.resolve()
      const outcomes = await running
      assert.ok(outcomes.every(({ status, text }) => status === 200 && text.includes('[DONE]')))
      assert.equal((await exit).code, 0)
      assert.equal(
        parseAmount(await account.balance()),
        parseAmount('1') - 100n * (10n * 2000n + 20n * 8000n),
      )
      await server.assertNoOpenHolds()
    },
  )
})

describe('Slots of killed nodes', () => {
  test(
    'Concurrency slot of a killed node – is freed by SLOT_LEASE, restart or retirement',
    { skip },
    async (t) => {
      const slots = await startRedis()
      t.after(() => slots.stop())
      const env = { REDIS_URL: slots.url, SLOT_LEASE: '2s' }
      const cluster = await startCluster(t, 2, env, { postgres: shared.postgres })
      const { server, nodes } = cluster
      const upstream = await addModel(cluster)
      const account = await server.account({ balance: '1', key: { limits: { concurrency: 1 } } })
      await waitUntilServed(cluster, account.key.secret)
      const isFree = async (): Promise<boolean> => {
        const [outcome] = await sendConcurrently(account, server.url, chatRequest('m'), 1)
        assert.ok(outcome?.status === 200 || outcome?.code === 'rate_limit_exceeded', `${outcome?.status}`)
        return outcome.status === 200
      }
      const killWithOpenStream = async (): Promise<void> => {
        const before = upstream.requests.length
        upstream.next(pauseAfter(1, new Promise(() => undefined), respondWith('Never done.')))
        void sendConcurrently(account, nodes[1]?.url ?? '', chatRequest('m', { stream: true }), 1).catch(
          () => undefined,
        )
        await waitUntil(() => upstream.requests.length > before)
        assert.ok(!(await isFree()))
        await nodes[1]?.kill()
      }

      await killWithOpenStream()
      // Earlier than the default lease of 30 s would end.
      await waitUntil(isFree, 'the slot to be free', 25_000)

      await cluster.restartNode(1, { SLOT_LEASE: '1h' })
      await killWithOpenStream()
      await cluster.restartNode(1, { SLOT_LEASE: '1h' })
      await waitUntil(isFree)

      await killWithOpenStream()
      const killed = (await listNodes(cluster)).find(({ open_holds }) => open_holds > 0)
      const sluice = new CommandLine(server.dataDir, { DATABASE_URL: cluster.url })
      await sluice.output(['node', 'retire', killed?.id ?? ''])
      await waitUntil(isFree)
      await server.assertNoOpenHolds()
    },
  )
})

describe('Duplicate nodes', () => {
  test('Two processes with the same node identity – the first exits with the reason', { skip }, async (t) => {
    const cluster = await startCluster(t, 1, {}, { postgres: shared.postgres })
    const { server, url } = cluster
    const upstream = await addModel(cluster)
    const account = await server.account({ balance: '1' })
    const first = server.relay
    upstream.next(pauseAfter(1, new Promise(() => undefined), respondWith('Never done.')))
    void sendConcurrently(account, first.url, chatRequest('m', { stream: true }), 1).catch(() => undefined)
    await waitUntil(() => upstream.requests.length === 1)
    const copy = `${first.dataDir}-copy`
    await cp(first.dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') })
    const second = await startRelay({ dataDir: copy, env: { DATABASE_URL: url } })
    t.after(() => second.stop())
    assert.equal((await first.exited).code, 1)
    assert.match(
      first.lines.join('\n'),
      /another process runs as node_\w+, on .*Each node needs its own DATA_DIR/,
    )
    server.relay = second
    assert.equal((await account.post(chatRequest('m'))).status, 200)
    await server.assertNoOpenHolds()
  })
})
