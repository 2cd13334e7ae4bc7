/**
 * The chaos run: three nodes behind a load balancer, clients that send requests without pause and never retry, failing
 * upstreams, and workers, nodes, the database and Redis killed in turn. Afterwards every charge must be right, and at
 * most one request in a thousand may have failed because of us.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openClient, runScript } from '../../src/db/postgres/connection.ts'
import { startRedis, type RedisServer } from '../../src/shared/redis.fixture.ts'
import { startLoadBalancer } from '../support/server/load-balancer.ts'
import { startCluster, type Cluster } from '../support/server/cluster.ts'
import { crashEnv } from './crash-trials.ts'
import { planOf, type ObservedCall } from '../support/client/concurrent-clients.ts'
import { startTraffic } from './database-outage.ts'
import { waitUntil } from '../support/wait.ts'

/** Each client fails at most once per kill, so that two kills cause at most ten failures. */
const clientCount = 5
const nodes = 3

type InjectedFault = (cluster: Cluster & { redis: RedisServer }, round: number) => Promise<void>

/** In this order, in every round. */
const faults: readonly InjectedFault[] = [
  async ({ nodes: all }, round) => all[round % all.length]?.signal('SIGUSR2'),
  async ({ postgres }) => {
    await postgres.stop()
    await postgres.start()
  },
  async (cluster, round) => {
    const index = (round + 1) % cluster.nodes.length
    await cluster.nodes[index]?.kill()
    await cluster.restartNode(index)
  },
  async ({ redis }) => {
    await redis.stop()
    await redis.start()
  },
  async ({ postgres }) => {
    await postgres.stop('SIGKILL')
    await postgres.start()
  },
]

/** Failed, and not because an upstream truncated the stream and the client got an error. */
function isRelayFailure({ name, isComplete, hasError }: ObservedCall): boolean {
  return !isComplete && !(planOf(name, true).isTruncated && hasError)
}

export interface ChaosRun {
  readonly requests: number
  /** How often each fault occurs. */
  readonly rounds: number
  /** On a machine too busy for all requests, the run ends after this time, with all faults. */
  readonly maxMs: number
}

/** At most one request in a thousand may fail because of us. */
export async function runChaos(t: TestContext, { requests, rounds, maxMs }: ChaosRun): Promise<void> {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const cluster = await startCluster(t, nodes, { REDIS_URL: redis.url, LOG_LEVEL: 'warn', ...crashEnv })
  const urls = cluster.nodes.map(({ url }) => url)
  const balancer = await startLoadBalancer(t, urls)
  const traffic = await startTraffic(cluster, { hasFaults: true, urlOf: () => balancer.url })
  const { clients, account } = traffic
  // Counted in Redis while Redis is available.
  await account.change({ limits: { rpm: 10_000_000, concurrency: 1000 } })
  const startedAt = performance.now()
  clients.start(clientCount, requests)
  const steps = rounds * faults.length
  for (let step = 0; step < steps; step += 1) {
    const share = (step + 0.5) / steps
    const isDue = (): boolean =>
      clients.calls.length >= requests * share || performance.now() - startedAt > maxMs * share
    await waitUntil(isDue, 'the next fault', maxMs)
    await faults[step % faults.length]?.({ ...cluster, redis }, Math.floor(step / faults.length))
  }
  await waitUntil(
    () => clients.calls.length === requests || performance.now() - startedAt > maxMs,
    'all calls',
    2 * maxMs,
  )
  const calls = await clients.stop()
  const seconds = (performance.now() - startedAt) / 1000
  const failed = calls.filter(isRelayFailure)
  const truncated = calls.filter(({ name }) => planOf(name, true).isTruncated)
  t.diagnostic(
    `${calls.length} requests in ${seconds.toFixed(0)} s, ${steps} faults: ${failed.length} failures of ours, ` +
      `${truncated.length} responses that upstreams truncated`,
  )
  const failuresByStatus = Map.groupBy(failed, ({ status }) => status)
  for (const [status, calls] of failuresByStatus) t.diagnostic(`${calls.length} × ${status}`)
  assert.ok(!failuresByStatus.has(401), 'a valid key was rejected')
  assert.ok(failed.length <= requests / 1000, `${failed.length} failures of ours`)
  await traffic.verify()
  await assertNoDuplicates(cluster.url)
}

/** Checks the database directly: no entry or request exists twice, and no hold is open. */
async function assertNoDuplicates(url: string): Promise<void> {
  const client = await openClient({ url, name: 'history', statementMs: 60_000 })
  const rowsOf = async (sql: string): Promise<unknown> => (await runScript(client, sql))[0]
  assert.deepEqual(
    await rowsOf(
      `select ref, kind, count(*) from entries where ref is not null group by ref, kind having count(*) > 1`,
    ),
    [],
  )
  assert.deepEqual(
    await rowsOf('select request_id from requests group by request_id having count(*) > 1'),
    [],
  )
  assert.deepEqual(await rowsOf('select id from holds where retired_at is null'), [])
  await client.end()
}
