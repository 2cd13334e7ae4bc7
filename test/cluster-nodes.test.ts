/** Nodes that are gone for good, and limits that all nodes count together. */
import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openClient } from '../src/db/postgres/connection.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { nanosOf } from '../src/lib/money.ts'
import { startRedis, withoutRedis } from '../src/shared/redis.fixture.ts'
import { question } from './support/server/account.ts'
import { openCluster, served, until, withModel, type Cluster } from './cluster.ts'
import { CommandLine, commandsOf } from './support/server/command-line.ts'
import { onThisMachine } from './machine.ts'
import { pausingAfter, waitingFor } from './support/upstream/fault-injection.ts'
import { callMany, costOfAll, withStatus } from './support/client/parallel-requests.ts'
import { startRelay } from './support/server/relay-process.ts'
import { saying, sayingMany } from './support/upstream/scripted-responses.ts'

const skip = withoutPostgres === false ? withoutRedis : withoutPostgres

interface NodeState {
  id: string
  state: string
  open_holds: number
}

const nodesOf = async ({ house }: Cluster): Promise<NodeState[]> =>
  (await house.admin<{ data: NodeState[] }>('GET', '/nodes')).data

test(
  'a node that is given up is charged at the last mark it has uploaded; what it settles later is overrun, once',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1' })
    const frozen = nodes[1]
    assert.ok(frozen)
    await until(
      async () => withStatus(await callMany(account, frozen.url, question('m'), 1), 200).length === 1,
    )
    const word = Promise.withResolvers<void>()
    upstream.next(pausingAfter(200, word.promise, sayingMany(400, { input: 10, output: 400 })))
    upstream.next(waitingFor(word.promise, saying('Late.', { input: 10, output: 50 })))
    const stream = callMany(account, frozen.url, question('m', { stream: true }), 1)
    await until(() => upstream.requests.length === 2)
    const whole = callMany(account, frozen.url, question('m'), 1)
    await until(
      async () =>
        upstream.requests.length === 3 && (await nodesOf(cluster)).some((node) => node.open_holds === 2),
    )
    // So long that the stream's marks are uploaded.
    await delay(2500)
    frozen.signal('SIGSTOP')
    const other = (await nodesOf(cluster)).find(({ open_holds }) => open_holds === 2)
    const answer = await house.admin<{ settled: number }>('POST', `/nodes/${other?.id}/retire`)
    assert.equal(answer.settled, 2)
    assert.equal(nanosOf(await account.held()), 0n)
    const charged = await costOfAll(account)
    assert.ok(charged > 0n)
    frozen.signal('SIGCONT')
    word.resolve()
    await Promise.all([stream, whole])
    await until(async () => (await nodesOf(cluster)).every(({ state }) => state === 'running'))
    await until(async () => nanosOf((await house.verify()).overrun) > 0n)
    assert.equal(nanosOf(await account.balance()), nanosOf('1') - charged)
    const { overrun } = await house.verify()
    // Both in full, less what was charged for the stream at its mark; the first request was none of theirs.
    const inFull = 2n * 10n * 2000n + 450n * 8000n
    const first = 10n * 2000n + 5n * 8000n
    assert.equal(nanosOf(overrun), inFull - (charged - first))
    await house.nothingHeld()
  },
)

test(
  'a node that has been silent for 15 minutes is retired by itself, what it held is ended, and it comes back as a new one',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes, url } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1' })
    const [asked, frozen] = nodes
    assert.ok(asked && frozen)
    await served(cluster, account.key.secret)
    const word = Promise.withResolvers<void>()
    upstream.next(waitingFor(word.promise, saying('Late.', { input: 10, output: 50 })))
    const late = callMany(account, frozen.url, question('m'), 1)
    await until(async () => (await nodesOf(cluster)).some((node) => node.open_holds === 1))
    const silent = (await nodesOf(cluster)).find((node) => node.open_holds === 1)
    frozen.signal('SIGSTOP')
    // Fifteen minutes go by.
    const client = await openClient({ url, name: 'clock', statementMs: 20_000 })
    const goBy = `update nodes set seen_at = seen_at - 960000 where id = '${silent?.id}'`
    const list = new CommandLine(asked.dataDir, { DATABASE_URL: url })
    await until(async () => {
      await client.query(goBy)
      return (await list.output(['node', 'list'])).includes('retired')
    })
    await client.end()
    await until(async () => nanosOf(await account.held()) === 0n)
    assert.equal(await account.balance(), '1', 'a whole answer has no mark to be charged at')
    frozen.signal('SIGCONT')
    word.resolve()
    await late
    await until(async () => (await nodesOf(cluster)).every(({ state }) => state === 'running'))
    const again = async () => callMany(account, frozen.url, question('m'), 1)
    await until(async () => withStatus(await again(), 200).length === 1)
    const { code, errors } = await list.run(['node', 'retire', 'node_unknown'])
    assert.notEqual(code, 0)
    assert.match(errors.join('\n'), /no such node/)
    await house.nothingHeld()
  },
)

test(
  'a node that is told to end with 100 streams open is not ready at once, finishes them all, and all are settled',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3)
    const { house, nodes } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret)
    const ending = nodes[2]
    assert.ok(ending)
    const word = Promise.withResolvers<void>()
    upstream.always(pausingAfter(5, word.promise, sayingMany(20, { input: 10, output: 20 })))
    const running = callMany(account, ending.url, question('m', { stream: true }), 100)
    await until(() => upstream.inFlight === 100)
    const exit = ending.stop()
    await until(
      async () =>
        (await fetch(`${ending.url}/readyz`).then(
          ({ status }) => status,
          () => 503,
        )) === 503,
    )
    word.resolve()
    const outcomes = await running
    assert.ok(outcomes.every(({ status, text }) => status === 200 && text.includes('[DONE]')))
    assert.equal((await exit).code, 0)
    assert.equal(nanosOf(await account.balance()), nanosOf('1') - 100n * (10n * 2000n + 20n * 8000n))
    await cluster.again(2)
    await house.nothingHeld()
  },
)

test(
  'of 200 requests at once under 60 a minute over three nodes exactly 60 are served; without Redis each node goes on at its share',
  { skip },
  async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const cluster = await openCluster(t, 3, { REDIS_URL: redis.url })
    const { house, nodes } = cluster
    await withModel(cluster)
    const account = await house.account({ balance: '1' })
    for (const { url } of nodes)
      await until(async () => withStatus(await callMany(account, url, question('m'), 1), 200).length === 1)
    const limited = await house.account({ balance: '1' })
    await limited.change({ limits: { rpm: 60 } })
    await delay(1000)
    const calls = (of: typeof account, each: number) =>
      Promise.all(nodes.map(({ url }) => callMany(of, url, question('m', { max_tokens: 5 }), each)))
    const outcomes = (await calls(limited, 67)).flat()
    assert.equal(withStatus(outcomes, 200).length, 60)
    assert.equal(withStatus(outcomes, 429).length, 141)
    const shared = async (): Promise<boolean[]> =>
      Promise.all(
        nodes.map(async (node) => {
          const reply = await fetch(`${node.url}/metrics`, {
            headers: { authorization: `Bearer ${node.adminKey}` },
          })
          return /^sluice_rates_shared 1$/m.test(await reply.text())
        }),
      )
    assert.deepEqual(await shared(), [true, true, true])
    const doctor = async (): Promise<string> =>
      (await commandsOf(house.relay).run(['doctor', '--no-calls'])).output
    assert.match(await doctor(), /^ok +rates +Redis [\d.]+ at 127\.0\.0\.1:\d+ answers$/m)
    await redis.stop()
    await until(async () => (await shared()).every((isShared) => !isShared))
    for (const { lines } of nodes)
      await until(() => lines.some((line) => /"why":"REDIS_URL: .*"msg":"Redis is away/.test(line)))
    assert.match(await doctor(), /^warn +rates +Redis at 127\.0\.0\.1:\d+ cannot be had \(REDIS_URL: /m)
    const fresh = await house.account({ balance: '1' })
    await fresh.change({ limits: { rpm: 30 } })
    await delay(1000)
    const alone = await calls(fresh, 20)
    assert.deepEqual(
      alone.map((each) => withStatus(each, 200).length),
      [10, 10, 10],
    )
    await house.nothingHeld()
  },
)

test(
  'a slot of a concurrency limit that a killed node had is free within SLOT_LEASE, and at once when the node is started again or retired',
  { skip },
  async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const leaseMs = 2000
    const cluster = await openCluster(t, 2, { REDIS_URL: redis.url, SLOT_LEASE: `${leaseMs}ms` })
    const { house, nodes } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1', key: { limits: { concurrency: 1 } } })
    await served(cluster, account.key.secret)
    const isFree = async (): Promise<boolean> => {
      const [outcome] = await callMany(account, house.url, question('m'), 1)
      assert.ok(outcome?.status === 200 || outcome?.code === 'rate_limit_exceeded', `${outcome?.status}`)
      return outcome.status === 200
    }
    const killWithAStreamOpen = async (): Promise<void> => {
      const before = upstream.requests.length
      upstream.next(pausingAfter(1, new Promise(() => undefined), saying('Never done.')))
      void callMany(account, nodes[1]?.url ?? '', question('m', { stream: true }), 1).catch(() => undefined)
      await until(() => upstream.requests.length > before)
      assert.ok(!(await isFree()))
      await nodes[1]?.kill()
    }

    await killWithAStreamOpen()
    const killedAt = performance.now()
    await until(isFree)
    assert.ok(performance.now() - killedAt < onThisMachine(5 * leaseMs), 'a lease was longer than it is')

    await cluster.again(1, { SLOT_LEASE: '1h' })
    await killWithAStreamOpen()
    await cluster.again(1, { SLOT_LEASE: '1h' })
    await until(isFree)

    await killWithAStreamOpen()
    const gone = (await nodesOf(cluster)).find(({ open_holds }) => open_holds > 0)
    const asked = new CommandLine(house.dataDir, { DATABASE_URL: cluster.url })
    await asked.output(['node', 'retire', gone?.id ?? ''])
    await until(isFree)
    await house.nothingHeld()
  },
)

test(
  'of two processes with the DATA_DIR of one node, or a copy of it, the first ends and says why; what it had open is ended once',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 1)
    const { house, url } = cluster
    const upstream = await withModel(cluster)
    const account = await house.account({ balance: '1' })
    const first = house.relay
    upstream.next(pausingAfter(1, new Promise(() => undefined), saying('Never done.')))
    void callMany(account, first.url, question('m', { stream: true }), 1).catch(() => undefined)
    await until(() => upstream.requests.length === 1)
    const copy = `${first.dataDir}-copy`
    await cp(first.dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') })
    const second = await startRelay({ dataDir: copy, env: { DATABASE_URL: url } })
    t.after(() => second.stop())
    assert.equal((await first.exited).code, 1)
    assert.match(
      first.lines.join('\n'),
      /another process runs as node_\w+, on .*Each node needs a DATA_DIR of its own/,
    )
    house.relay = second
    assert.equal((await account.post(question('m'))).status, 200)
    await house.nothingHeld()
  },
)
