// @backend postgres – starts its own clusters
// @suite all – killed and frozen nodes
/** Nodes that die: what their requests hold is released within NODE_RETIRE_AFTER and 15 s, and who returns rejoins. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgresSkipReason as skip, type PostgresServer } from '../../src/db/postgres/postgres.fixture.ts'
import { parseAmount } from '../../src/lib/money.ts'
import { sendConcurrently, withStatus } from '../support/client/parallel-requests.ts'
import { chatRequest, type Account } from '../support/server/account.ts'
import {
  type Cluster,
  addModel,
  isLeader,
  sharedPostgres,
  startCluster,
  waitUntilServed,
} from '../support/server/cluster.ts'
import { CommandLine } from '../support/server/command-line.ts'
import { pauseAfter, waitFor } from '../support/upstream/fault-injection.ts'
import { respondWith } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

let postgres: PostgresServer
if (skip === false) postgres = await sharedPostgres()

interface NodeState {
  id: string
  state: string
}

const listNodes = async ({ server }: Cluster): Promise<NodeState[]> =>
  (await server.admin<{ data: NodeState[] }>('GET', '/nodes')).data

async function isAdmitted(account: Account, url: string, model: string): Promise<boolean> {
  return withStatus(await sendConcurrently(account, url, chatRequest(model), 1), 200).length === 1
}

describe('Dead nodes', () => {
  test(
    'Leader and another node killed – their customers have their money back within the bound',
    { skip },
    async (t) => {
      const cluster = await startCluster(t, 3, { NODE_RETIRE_AFTER: '5s' }, { postgres })
      const { server, nodes } = cluster
      const upstream = await addModel(cluster)
      const account = await server.account({ balance: '1' })
      await waitUntilServed(cluster, account.key.secret)
      const findLeader = async () => {
        for (const node of nodes) if (await isLeader(node)) return node
        return undefined
      }
      await waitUntil(async () => (await findLeader()) !== undefined)
      const leader = await findLeader()
      const [survivor, follower] = nodes.filter((node) => node !== leader)
      assert.ok(leader && follower && survivor)
      server.relay = survivor
      upstream.always(pauseAfter(1, new Promise(() => undefined), respondWith('Never done.')))
      const before = upstream.requests.length
      for (const { url } of [leader, follower]) {
        for (const stream of [true, false])
          void sendConcurrently(account, url, chatRequest('m', { stream }), 1).catch(() => undefined)
      }
      await waitUntil(() => upstream.requests.length === before + 4)
      assert.ok(parseAmount(await account.held()) > 0n)
      const killedAt = performance.now()
      await Promise.all([leader.kill(), follower.kill()])
      await waitUntil(async () => parseAmount(await account.held()) === 0n)
      const seconds = (performance.now() - killedAt) / 1000
      assert.ok(seconds <= 5 + 15, `${seconds} s`)
      const states = (await listNodes(cluster)).map(({ state }) => state).toSorted()
      assert.deepEqual(states, ['retired', 'retired', 'running'])
      upstream.always(respondWith('Hello!'))
      await Promise.all([leader, follower].map((node) => cluster.restartNode(nodes.indexOf(node))))
      server.relay = survivor
      await waitUntil(async () => (await listNodes(cluster)).every(({ state }) => state === 'running'))
      await server.assertNoOpenHolds()
    },
  )

  test('Frozen node – is retired; when it returns, its requests end and it rejoins', { skip }, async (t) => {
    const cluster = await startCluster(t, 2, { NODE_RETIRE_AFTER: '5s' }, { postgres })
    const { server, nodes, url } = cluster
    const upstream = await addModel(cluster)
    const account = await server.account({ balance: '1' })
    const [running, frozen] = nodes
    assert.ok(running && frozen)
    await waitUntilServed(cluster, account.key.secret)
    const resume = Promise.withResolvers<void>()
    upstream.always(waitFor(resume.promise, respondWith('Late.', { input: 10, output: 50 })))
    const late = sendConcurrently(account, frozen.url, chatRequest('m'), 2)
    await waitUntil(() => upstream.requests.length === 2)
    frozen.signal('SIGSTOP')
    await waitUntil(async () => (await listNodes(cluster)).some(({ state }) => state === 'retired'))
    await waitUntil(async () => parseAmount(await account.held()) === 0n)
    assert.equal(await account.balance(), '1', 'a non-streaming request has no mark to be charged at')
    const list = new CommandLine(running.dataDir, { DATABASE_URL: url })
    assert.match(await list.output(['node', 'list']), /retired/)
    upstream.always(respondWith('Hello!'))
    frozen.signal('SIGCONT')
    resume.resolve()
    for (const { status, text } of await late) {
      assert.ok(status === 200 ? text.includes('Late.') : status === 503, `${status} ${text}`)
    }
    await waitUntil(async () => (await listNodes(cluster)).every(({ state }) => state === 'running'))
    await waitUntil(() => isAdmitted(account, frozen.url, 'm'))
    const { code, errors } = await list.run(['node', 'retire', 'node_unknown'])
    assert.notEqual(code, 0)
    assert.match(errors.join('\n'), /Node not found/)
    await server.assertNoOpenHolds()
  })
})
