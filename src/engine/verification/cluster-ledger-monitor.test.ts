// @suite all – many scans of a PostgreSQL database
/** The monitor of a cluster's ledger: it finds every tampering, and reports nothing if nothing is wrong. */
import assert from 'node:assert/strict'
import { after, before, describe, test, type TestContext } from 'node:test'
import type { Client } from 'pg'
import { openClient } from '../../db/postgres/connection.ts'
import { deleteRequestsShared } from '../../db/postgres/retention.ts'
import { startPostgres, postgresSkipReason, type PostgresServer } from '../../db/postgres/postgres.fixture.ts'
import { rollUpShared } from '../../usage/rollups/shared-rollup.ts'
import { SnapshotReader } from '../../db/postgres/snapshot.ts'
import { LedgerMonitor, scrubJournal, scrubSums } from './ledger-monitor.ts'
import type { ReadSnapshot } from './ledger-source.ts'
import { postgresSource as source } from './postgres-source.ts'
import type { LedgerReport } from './replay.ts'
import {
  at,
  credit,
  hold,
  openNodeLedger,
  settle,
  type TestLedger as Node,
} from '../postgres/shared-ledger.fixture.ts'
import { tamperingSince, saveTables, tamperingBefore, tamper, withTampering } from './tampering.fixture.ts'
import { monitorInThread } from './verify-thread.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const skip = postgresSkipReason

let server: PostgresServer
before(async () => {
  if (!skip) server = await startPostgres()
})
after(() => server?.remove())

interface TestCluster {
  readonly nodes: readonly Node[]
  readonly url: string
  readonly client: Client
  readonly readSnapshot: ReadSnapshot
}

/** Two nodes with an account each, and an account that both of them serve. */
async function openCluster(t: TestContext): Promise<TestCluster> {
  const url = await server.createMigratedDatabase()
  const nodes = [
    await openNodeLedger(t, 'one', url, { nextFault: () => 'pass' }),
    await openNodeLedger(t, 'two', url, { nextFault: () => 'pass' }),
  ]
  const client = await openClient({ url, name: 'tamper', statementMs: 20_000 })
  const snapshots = new SnapshotReader(url, 'tests')
  t.after(() => Promise.all([client.end(), snapshots[Symbol.asyncDispose]()]))
  for (const account of ['one', 'two', 'both']) {
    const [node] = nodes
    if (node) await credit(node, 1_000_000n, account)
  }
  return { nodes, url, client, readSnapshot: (read) => snapshots.read(read) }
}

let requests = 0

async function serve(node: Node, account: string): Promise<void> {
  const id = `req-${(requests += 1)}`
  await hold(node, id, account)
  assert.ok((await settle(node, id, (requests % 7) + 1)) > 0n)
}

/** Some requests at each node, sequential and concurrent; one hold stays open. */
async function serveSome({ nodes }: TestCluster): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    for (let round = 0; round < 2; round += 1) await serve(node, index === 0 ? 'one' : 'two')
    await Promise.all(Array.from({ length: 3 }, () => serve(node, 'both')))
    await hold(node, `req-${(requests += 1)}`, 'both')
  }
}

function monitorOf({ url }: TestCluster): LedgerMonitor {
  const listener = { onReport: () => undefined, onError: () => undefined }
  return new LedgerMonitor({ source, openSnapshots: (name) => new SnapshotReader(url, name) }, listener)
}

describe('LedgerMonitor', () => {
  test('tampering before the monitor started – is found by a full scan', { skip }, async (t) => {
    const cluster = await openCluster(t)
    await serveSome(cluster)
    const check = async (): Promise<Record<'sums' | 'recomputation', LedgerReport | null>> => ({
      sums: await scrubSums(source, cluster.readSnapshot),
      recomputation: await scrubJournal(source, cluster.readSnapshot),
    })
    for (const [name, { statement, by }] of Object.entries(tamperingBefore)) {
      await withTampering(cluster.client, statement, async () => {
        const found = await check()
        const finders = (['sums', 'recomputation'] as const).filter((scan) => found[scan]?.ok === false)
        assert.deepEqual(finders, by, name)
      })
    }
    const { sums, recomputation } = await check()
    assert.deepEqual([sums?.findings, recomputation?.findings], [[], []])
  })

  test('tampering with new rows – is found by the next check, and stays reported', { skip }, async (t) => {
    const cluster = await openCluster(t)
    await serveSome(cluster)
    for (const [name, statement] of Object.entries(tamperingSince)) {
      const monitor = monitorOf(cluster)
      assert.deepEqual((await monitor.check()).findings, [], `before ${name}`)
      await serveSome(cluster)
      await withTampering(cluster.client, statement, async () =>
        assert.equal((await monitor.check()).ok, false, name),
      )
      assert.equal((await monitor.check()).ok, false, `after ${name}`)
    }
  })

  test('check that fails halfway – is completed by the next one', { skip }, async (t) => {
    const cluster = await openCluster(t)
    const monitor = monitorOf(cluster)
    await monitor.check()
    await serveSome(cluster)
    for (const table of ['entries', 'requests', 'holds', 'owners']) {
      await cluster.client.query(`alter table ${table} rename to away`)
      await assert.rejects(monitor.check(), /does not exist/)
      await cluster.client.query(`alter table away rename to ${table}`)
    }
    assert.deepEqual((await monitor.check()).findings, [])
    await withTampering(cluster.client, tamperingSince['an entry’s amount'], async () =>
      assert.equal((await monitor.check()).ok, true),
    )
    await withTampering(cluster.client, tamperingSince['an entry of no commit'], async () =>
      assert.equal((await monitor.check()).ok, false),
    )
  })

  test('failover that lost commits with all their rows – is not reported', { skip }, async (t) => {
    for (const scan of [scrubSums, scrubJournal]) {
      const cluster = await openCluster(t)
      const monitor = monitorOf(cluster)
      await serveSome(cluster)
      const loseLaterCommits = await saveTables(cluster.client)
      await serveSome(cluster)
      assert.deepEqual((await monitor.check()).findings, [])
      let snapshotCount = 0
      // What had settled when the scan started is lost before it ends.
      const report = await scan(source, async (read) => {
        const result = await cluster.readSnapshot(read)
        if ((snapshotCount += 1) === 5) await loseLaterCommits()
        return result
      })
      assert.equal(report, null)
      assert.deepEqual((await monitor.check()).findings, [])
      for (const check of [scrubSums, scrubJournal])
        assert.deepEqual((await check(source, cluster.readSnapshot))?.findings, [])
    }
  })

  /** Entries of this account are committed late, after others with higher numbers. */
  const slowCommits = `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.01); return null; end $$;
  create constraint trigger slow after insert on entries deferrable initially deferred
    for each row when (new.account_id = 'two') execute function slow()`

  test('load with late commits while old request rows are deleted – is not reported', { skip }, async (t) => {
    const cluster = await openCluster(t)
    const [one, two] = cluster.nodes
    assert.ok(one && two)
    await cluster.client.query(slowCommits)
    const load = { isOver: false }
    const keepServing = async (node: Node, account: string): Promise<void> => {
      while (!load.isOver) await serve(node, account)
    }
    // A node does not wait for the other one's late commits unless they share an account.
    const callers = [
      ...Array.from({ length: 4 }, () => keepServing(one, 'one')),
      ...Array.from({ length: 2 }, () => keepServing(two, 'two')),
      (async () => {
        // Credits have no request row.
        for (let count = 0; !load.isOver; count += 1) await credit(one, 10n, `one-${count}`)
      })(),
    ]
    const monitors = [monitorOf(cluster), monitorOf(cluster)]
    const snapshots = [new SnapshotReader(cluster.url, 'tests'), new SnapshotReader(cluster.url, 'tests')]
    /** Checks and scans while the nodes serve this many requests. */
    const checkDuring = async (served: number): Promise<void> => {
      const end = requests + served
      const isServing = (): boolean => requests < end
      const checking = monitors.map(async (monitor) => {
        while (isServing()) assert.deepEqual((await monitor.check()).findings, [])
      })
      const scanning = [scrubSums, scrubJournal].map(async (scan, index) => {
        while (isServing()) {
          const report = await scan(source, (read) => snapshots[index]?.read(read) ?? assert.fail())
          assert.deepEqual(report?.findings ?? [], [])
        }
      })
      await Promise.all([...checking, ...scanning])
    }
    const deleteOld = async (): Promise<void> => {
      while (!load.isOver) {
        await rollUpShared(cluster.client)
        await deleteRequestsShared(cluster.client, at + 1)
      }
    }
    try {
      await checkDuring(100)
      callers.push(keepServing(one, 'both'), keepServing(two, 'both'), deleteOld())
      await checkDuring(100)
    } finally {
      load.isOver = true
      await Promise.all([...callers, ...snapshots.map((each) => each[Symbol.asyncDispose]())])
    }
    assert.deepEqual([...one.events, ...two.events], [])
  })

  test(
    'tampering while no node monitors – is found by the next leader; other nodes do not check',
    { skip },
    async (t) => {
      const cluster = await openCluster(t)
      await serveSome(cluster)
      let leader = 0
      const checks = [0, 0]
      const found = Promise.withResolvers<{ node: number; report: LedgerReport }>()
      const monitorAt = (node: number): (() => Promise<void>) =>
        monitorInThread(
          { clusterUrl: cluster.url },
          20,
          {
            onReport(report) {
              checks[node] = (checks[node] ?? 0) + 1
              if (!report.ok) found.resolve({ node, report })
            },
            onError: (error) => found.reject(error),
          },
          () => leader === node,
        )
      const stops = [monitorAt(0), monitorAt(1)]
      t.after(() => Promise.all(stops.map((stop) => stop())))
      const waitForChecks = async (node: number, times: number): Promise<void> => {
        const end = (checks[node] ?? 0) + times
        await waitUntil(() => (checks[node] ?? 0) >= end, `${times} checks`)
      }
      await waitForChecks(0, 3)
      assert.equal(checks[1], 0)
      leader = 1
      await waitForChecks(1, 3)
      await stops[1]?.()
      await tamper(cluster.client, `update owners set balance_nanos = balance_nanos + 7 where id = 'a:two'`)
      leader = 0
      const { node, report } = await found.promise
      assert.deepEqual([node, report.drift], [0, 7n])
      // From then on each check reports it.
      await waitForChecks(0, 3)
    },
  )
})
