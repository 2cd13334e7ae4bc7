/** What one node finds out, all know: upstreams that fail, guesses at passwords and codes, and who looks after them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { wordsChannelText } from '../src/db/postgres/change-feed.ts'
import { openClient, runTexts } from '../src/db/postgres/connection.ts'
import { jobLock } from '../src/db/postgres/advisory-locks.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { entranceCalls } from '../src/http/console/contract/entrance.ts'
import { question } from './support/server/account.ts'
import { Browser } from './browser.ts'
import { leads, openCluster, served, until, withModel, type Cluster } from './cluster.ts'
import { onThisMachine } from './machine.ts'
import { callMany, withStatus } from './support/client/parallel-requests.ts'
import type { RelayProcess } from './support/server/relay-process.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'
import type { UpstreamHealth } from './support/server/upstream-health.ts'

const skip = withoutPostgres
/** What a node found out reaches the others within so long. */
const withinMs = 1000

/** The state of an upstream's only credential, as one node tells it. */
async function stateAt(node: RelayProcess, upstream: string): Promise<string> {
  const { data } = await node.admin<{ data: UpstreamHealth[] }>('GET', '/upstreams/health')
  return data.find((each) => each.upstream === upstream)?.credentials[0]?.state ?? 'unknown'
}

async function all({ nodes }: Cluster, upstream: string, state: string): Promise<boolean> {
  const states = await Promise.all(nodes.map((node) => stateAt(node, upstream)))
  return states.every((each) => each === state)
}

async function soonAll(cluster: Cluster, upstream: string, state: string): Promise<void> {
  const start = performance.now()
  while (!(await all(cluster, upstream, state)))
    assert.ok(performance.now() - start < onThisMachine(withinMs), `not ${state} everywhere within a second`)
}

test(
  'an upstream that fails at one node rests at all of them within a second, and is back at all as soon as it is at one',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3)
    const { house, nodes, postgres } = cluster
    const bad = await house.upstream(failing(401))
    const good = await house.upstream(saying('Hello!'))
    await house.model('m', { upstreams: [bad, good] })
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret)
    const ask = async (at: number): Promise<void> => {
      const outcomes = await callMany(account, nodes[at]?.url ?? '', question('m'), 1)
      assert.equal(withStatus(outcomes, 200).length, 1)
    }
    await ask(1)
    await soonAll(cluster, bad.id, 'open')

    bad.always(saying('Back!'))
    await until(async () => {
      await ask(2)
      return (await stateAt(nodes[2] ?? house.relay, bad.id)) === 'closed'
    })
    await soonAll(cluster, bad.id, 'closed')

    // Over another connection to the database, and to a node that was not there.
    await postgres.stop()
    await postgres.start()
    await until(
      async () => withStatus(await callMany(account, house.url, question('m'), 1), 200).length === 1,
    )
    await Promise.all(nodes.map((node) => node.ready()))
    const third = nodes[2]
    await third?.kill()
    bad.always(failing(401))
    await until(async () => (await stateAt(house.relay, bad.id)) === 'open' || (await ask(0), false))
    await cluster.again(2)
    await soonAll(cluster, bad.id, 'open')
    await house.nothingHeld()
  },
)

test(
  'words that make no sense, said by whoever may connect to the database, do nothing',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes, url } = cluster
    const bad = await house.upstream(failing(401))
    const good = await house.upstream(saying('Hello!'))
    await house.model('m', { upstreams: [bad, good] })
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret)
    const client = await openClient({ url, name: 'stranger', statementMs: 20_000 })
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
      await client.query(`select pg_notify(channel, $1) from (${wordsChannelText}) as words`, [text])
    // What makes sense is heard all the same, after all of them.
    await callMany(account, nodes[1]?.url ?? '', question('m'), 1)
    await soonAll(cluster, bad.id, 'open')
    assert.deepEqual(
      await Promise.all(nodes.map(async (node) => (await fetch(`${node.url}/readyz`)).status)),
      [200, 200],
    )
    await house.nothingHeld()
  },
)

test(
  'an idle upstream is checked by one node, and by another when that one is gone; one that is used through any node is not idle',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3)
    const { house, nodes } = cluster
    const checked = { health_check_ms: 1000 }
    const idle = await house.upstream(saying('OK', { input: 10, output: 2 }), checked)
    const used = await house.upstream(saying('OK', { input: 10, output: 2 }), checked)
    await house.model('m', { upstreams: [idle] })
    await house.model('used', { upstreams: [used] })
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret, 'used')
    await until(() => idle.requests.length >= 1)
    const leaders = await Promise.all(nodes.map(leads))
    assert.equal(leaders.filter(Boolean).length, 1)
    const leader = leaders.indexOf(true)

    const other = nodes[(leader + 1) % 3]
    assert.ok(other)
    const checksOf = ({ requests }: typeof used): number =>
      requests.filter(({ text }) => text.includes('Answer with OK.')).length
    const before = checksOf(used)
    let pauses = 0
    while (idle.requests.length < 6) {
      const askedAt = performance.now()
      await callMany(account, other.url, question('used'), 1)
      await delay(50)
      // On a busy machine callers are slow, and what nobody asks for so long is idle.
      if (performance.now() - askedAt > 300) pauses += 1
    }
    const asked = checksOf(used) - before
    assert.ok(asked <= 1 + pauses, `it was asked ${asked} times while callers used it`)
    assert.equal(idle.connections, 1, 'one connection is enough for one who asks')

    await nodes[leader]?.kill()
    const atDeath = idle.requests.length
    await until(() => idle.requests.length > atDeath + 1)
    await cluster.again(leader)
    await house.nothingHeld()
  },
)

test(
  'guesses are counted over all nodes: at passwords, and at the codes of vouchers',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 3)
    const { house, nodes } = cluster
    await withModel(cluster)
    const [guesser, other] = [await house.account(), await house.account()]
    await served(cluster, guesser.key.secret)
    const redeem = async (account: typeof guesser, at: number): Promise<number> => {
      const body = { code: `AAAA-BBBB-CCCC-DDDD-EE${at}` }
      const node = nodes[at % 3] ?? house.relay
      return (await node.adminReply('POST', `/accounts/${account.id}/vouchers`, body)).status
    }
    for (let guess = 0; guess < 10; guess += 1) assert.equal(await redeem(guesser, guess), 404)
    for (const at of [0, 1, 2]) assert.equal(await redeem(guesser, at), 429)
    assert.equal(await redeem(other, 1), 404)

    const signIn = async (at: number): Promise<number> => {
      const body = { email: 'nobody@example.com', password: 'a guess at random' }
      const browser = new Browser(nodes[at % 3]?.url ?? house.url)
      return (await browser.refused(entranceCalls.signIn, { body })).status
    }
    for (let guess = 0; guess < 10; guess += 1) assert.equal(await signIn(guess), 401)
    for (const at of [0, 1, 2]) assert.equal(await signIn(at), 429)
    await house.nothingHeld()
  },
)

test(
  'a ledger that does not add up is found by the node that watches, and no node admits anybody or is ready, until it is put right',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes, url } = cluster
    await withModel(cluster)
    const account = await house.account({ balance: '1' })
    await served(cluster, account.key.secret)
    const change = async (nanos: number, readyAs: readonly number[]): Promise<void> => {
      await Promise.all(nodes.map((node) => node.stop()))
      const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
      await runTexts(
        client,
        `update owners set balance_nanos = balance_nanos + ${nanos} where id = 'a:${account.id}'`,
      )
      await client.end()
      for (const index of nodes.keys()) await cluster.again(index, {}, readyAs)
    }
    const statuses = async (path: string): Promise<number[]> =>
      Promise.all(nodes.map(async (node) => (await fetch(`${node.url}${path}`)).status))
    // The first may have found it before the second is there.
    await change(5, [200, 503])
    const hasHeard = ({ lines }: RelayProcess): boolean =>
      lines.join('\n').includes('the ledger does not add up')
    await until(() => nodes.every(hasHeard))
    await until(async () => (await statuses('/readyz')).every((status) => status === 503))
    for (const node of nodes) {
      const outcomes = await callMany(account, node.url, question('m'), 1)
      assert.equal(withStatus(outcomes, 503).length, 1)
    }
    await change(-5, [200])
    assert.deepEqual(await statuses('/readyz'), [200, 200])
    await house.nothingHeld()
  },
)

test(
  'a node whose jobs wait for longer than its lease lasts does not lead any more when the next one does',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 2)
    const { house, nodes, url } = cluster
    await until(async () => (await Promise.all(nodes.map(leads))).includes(true))
    const stranger = await openClient({ url, name: 'stranger', statementMs: 60_000 })
    t.after(() => stranger.end())
    await stranger.query(`set idle_in_transaction_session_timeout = 0; begin; ${jobLock}`)
    const [one, other] = nodes
    assert.ok(one && other)
    const [first, next] = (await leads(one)) ? [one, other] : [other, one]
    await until(() => leads(next))
    assert.equal(await leads(first), false)
    await stranger.query('rollback')
    await house.nothingHeld()
  },
)
