/** The watch over a cluster's ledger: what it finds, and that it finds nothing where nothing is wrong. */
import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { openClient } from '../../db/postgres/connection.ts'
import { dropRequestsShared } from '../../db/postgres/drop-requests.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../../db/postgres/postgres.fixture.ts'
import { rollUpShared } from '../../usage/rollups/shared-rollup.ts'
import { Moments } from '../../db/postgres/snapshot.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import type { Snapshots } from '../verification/table-sums.ts'
import { recomputeAll, sumUpAll } from './passes.ts'
import { at, credit, hold, openLedgerOf, settle, type Opened as Node } from './shared-ledger.fixture.ts'
import { fresh, kept, old, tamper, tampered } from '../verification/tampering.fixture.ts'
import { watchClusterInThread } from './verify-thread.ts'
import { ClusterWatch } from './watch-cluster.ts'

const skip = withoutPostgres

let server: PostgresServer
before(async () => {
  if (!skip) server = await startPostgres()
})
after(() => server?.remove())

interface Opened {
  readonly nodes: readonly Node[]
  readonly url: string
  readonly client: Client
  readonly look: Snapshots
}

/** Two nodes with an account each, and one whose requests both of them serve. */
async function opened(t: TestContext): Promise<Opened> {
  const url = await server.migratedDatabase()
  const nodes = [
    await openLedgerOf(t, 'one', url, { fateOf: () => 'pass' }),
    await openLedgerOf(t, 'two', url, { fateOf: () => 'pass' }),
  ]
  const client = await openClient({ url, name: 'tamper', statementMs: 20_000 })
  const moments = new Moments(url, 'tests')
  t.after(() => Promise.all([client.end(), moments.close()]))
  for (const account of ['one', 'two', 'both']) {
    const [node] = nodes
    if (node) await credit(node, 1_000_000n, account)
  }
  return { nodes, url, client, look: (read) => moments.look(read) }
}

let requests = 0

async function serve(node: Node, account: string): Promise<void> {
  const id = `req-${(requests += 1)}`
  await hold(node, id, account)
  assert.ok((await settle(node, id, (requests % 7) + 1)) > 0n)
}

/** Some requests at each node, one after the other and at once; one stays open. */
async function serveSome({ nodes }: Opened): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    for (let round = 0; round < 2; round += 1) await serve(node, index === 0 ? 'one' : 'two')
    await Promise.all(Array.from({ length: 3 }, () => serve(node, 'both')))
    await hold(node, `req-${(requests += 1)}`, 'both')
  }
}

const quiet = { verdict: () => undefined, failed: () => undefined }

test(
  'whatever was changed before anybody watched is found by a pass, and nothing where nothing was',
  { skip },
  async (t) => {
    const house = await opened(t)
    await serveSome(house)
    const check = async (): Promise<Record<'sums' | 'recomputation', LedgerVerdict | null>> => ({
      sums: await sumUpAll(house.look),
      recomputation: await recomputeAll(house.look),
    })
    for (const [name, { statement, by }] of Object.entries(old)) {
      await tampered(house.client, statement, async () => {
        const found = await check()
        const finders = (['sums', 'recomputation'] as const).filter((pass) => found[pass]?.ok === false)
        assert.deepEqual(finders, by, name)
      })
    }
    const { sums, recomputation } = await check()
    assert.deepEqual([sums?.findings, recomputation?.findings], [[], []])
  },
)

test('whatever is changed of what is new is found by the next look, and stays found', { skip }, async (t) => {
  const house = await opened(t)
  await serveSome(house)
  for (const [name, statement] of Object.entries(fresh)) {
    const watch = new ClusterWatch(house.url, quiet)
    assert.deepEqual((await watch.look()).findings, [], `before ${name}`)
    await serveSome(house)
    await tampered(house.client, statement, async () => assert.equal((await watch.look()).ok, false, name))
    assert.equal((await watch.look()).ok, false, `after ${name}`)
  }
})

test('a look that fails in its midst is made up for by the next one', { skip }, async (t) => {
  const house = await opened(t)
  const watch = new ClusterWatch(house.url, quiet)
  await watch.look()
  await serveSome(house)
  for (const table of ['entries', 'dropped_bills', 'requests', 'holds', 'owners']) {
    await house.client.query(`alter table ${table} rename to away`)
    await assert.rejects(watch.look(), /does not exist/)
    await house.client.query(`alter table away rename to ${table}`)
  }
  assert.deepEqual((await watch.look()).findings, [])
  await tampered(house.client, fresh['an entry’s amount'], async () =>
    assert.equal((await watch.look()).ok, true),
  )
  await tampered(house.client, fresh['an entry of no commit'], async () =>
    assert.equal((await watch.look()).ok, false),
  )
})

test(
  'where a failover has lost commits with all that belongs to them, nothing is found',
  { skip },
  async (t) => {
    for (const pass of [sumUpAll, recomputeAll]) {
      const house = await opened(t)
      const watch = new ClusterWatch(house.url, quiet)
      await serveSome(house)
      const loseTheRest = await kept(house.client)
      await serveSome(house)
      assert.deepEqual((await watch.look()).findings, [])
      let moments = 0
      // What had settled when the pass began is gone before it has come to its end.
      const verdict = await pass(async (read) => {
        const result = await house.look(read)
        if ((moments += 1) === 5) await loseTheRest()
        return result
      })
      assert.equal(verdict, null)
      assert.deepEqual((await watch.look()).findings, [])
      for (const check of [sumUpAll, recomputeAll]) assert.deepEqual((await check(house.look))?.findings, [])
    }
  },
)

/** Entries of this account are committed late, after others with higher numbers. */
const slowly = `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.01); return null; end $$;
  create constraint trigger slow after insert on entries deferrable initially deferred
    for each row when (new.account_id = 'two') execute function slow()`

test(
  'nothing is found under load, with commits that come late, while request rows are deleted for their age',
  { skip },
  async (t) => {
    const house = await opened(t)
    const [one, two] = house.nodes
    assert.ok(one && two)
    await house.client.query(slowly)
    const load = { isOver: false }
    const keepOn = async (node: Node, account: string): Promise<void> => {
      while (!load.isOver) await serve(node, account)
    }
    // A node does not wait for the other one's late commits as long as they have no account in common.
    const callers = [
      ...Array.from({ length: 4 }, () => keepOn(one, 'one')),
      ...Array.from({ length: 2 }, () => keepOn(two, 'two')),
      (async () => {
        // Credits have no request row.
        for (let count = 0; !load.isOver; count += 1) await credit(one, 10n, `one-${count}`)
      })(),
    ]
    const watches = [new ClusterWatch(house.url, quiet), new ClusterWatch(house.url, quiet)]
    const moments = [new Moments(house.url, 'tests'), new Moments(house.url, 'tests')]
    /** Both nodes serve so many requests meanwhile. */
    const lookDuring = async (served: number): Promise<void> => {
      const end = requests + served
      const isServing = (): boolean => requests < end
      const looking = watches.map(async (watch) => {
        while (isServing()) assert.deepEqual((await watch.look()).findings, [])
      })
      const passing = [sumUpAll, recomputeAll].map(async (pass, index) => {
        while (isServing()) {
          const verdict = await pass((read) => moments[index]?.look(read) ?? assert.fail())
          assert.deepEqual(verdict?.findings ?? [], [])
        }
      })
      await Promise.all([...looking, ...passing])
    }
    const age = async (): Promise<void> => {
      while (!load.isOver) {
        await rollUpShared(house.client)
        await dropRequestsShared(house.client, at + 1)
      }
    }
    try {
      await lookDuring(100)
      callers.push(keepOn(one, 'both'), keepOn(two, 'both'), age())
      await lookDuring(100)
    } finally {
      load.isOver = true
      await Promise.all([...callers, ...moments.map((each) => each.close())])
    }
    assert.deepEqual([...one.told, ...two.told], [])
  },
)

test(
  'what is changed while no node watches is found by the one that watches next, and one that does not watch looks at nothing',
  { skip },
  async (t) => {
    const house = await opened(t)
    await serveSome(house)
    let leader = 0
    const looks = [0, 0]
    const found = Promise.withResolvers<{ node: number; verdict: LedgerVerdict }>()
    const watchAt = (node: number): (() => Promise<void>) =>
      watchClusterInThread(house.url, 20, () => leader === node, {
        verdict(verdict) {
          looks[node] = (looks[node] ?? 0) + 1
          if (!verdict.ok) found.resolve({ node, verdict })
        },
        failed: (error) => found.reject(error),
      })
    const ends = [watchAt(0), watchAt(1)]
    t.after(() => Promise.all(ends.map((end) => end())))
    const untilLooked = async (node: number, times: number): Promise<void> => {
      for (const end = (looks[node] ?? 0) + times; (looks[node] ?? 0) < end;) await delay(10)
    }
    await untilLooked(0, 3)
    assert.equal(looks[1], 0)
    leader = 1
    await untilLooked(1, 3)
    await ends[1]?.()
    await tamper(house.client, `update owners set balance_nanos = balance_nanos + 7 where id = 'a:two'`)
    leader = 0
    const { node, verdict } = await found.promise
    assert.deepEqual([node, verdict.drift], [0, 7n])
    // From then on each look says so.
    await untilLooked(0, 3)
  },
)
