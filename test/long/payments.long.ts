/** The law of payments on clusters: 10,000 notices at three nodes that are killed, over a database that is restarted. */
import { describe, test, type TestContext } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { redisSkipReason, startRedis } from '../../src/shared/redis.fixture.ts'
import { seedRange } from '../support/runner/seeds.ts'
import { startCluster, type Cluster } from '../support/server/cluster.ts'
import { runPaymentLaw } from './payment-law.ts'
import { PaymentWorld } from './payment-world.ts'

const skip = postgresSkipReason === false ? redisSkipReason : postgresSkipReason
const { from: seed } = seedRange(1)

async function killNode(cluster: Cluster, index: number): Promise<void> {
  await cluster.nodes[index]?.kill()
  await cluster.restartNode(index)
}

async function restartDatabase({ postgres }: Cluster, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  await postgres.stop(signal)
  await postgres.start()
}

async function runOnCluster(t: TestContext, epayVersion: 1 | 2): Promise<void> {
  const world = await PaymentWorld.open(seed, epayVersion)
  t.after(() => world.close())
  const redis = await startRedis()
  t.after(() => redis.stop())
  const cluster = await startCluster(t, 3, { ...world.env, REDIS_URL: redis.url, LOG_LEVEL: 'warn' })
  const restartRedis = async (): Promise<void> => {
    await redis.stop()
    await redis.start()
  }
  const disturbances = [
    () => killNode(cluster, 0),
    () => restartDatabase(cluster, 'SIGKILL'),
    () => killNode(cluster, 1),
    () => restartDatabase(cluster, 'SIGINT'),
    () => killNode(cluster, 2),
    restartRedis,
    () => killNode(cluster, 0),
    () => restartDatabase(cluster, 'SIGKILL'),
  ]
  const restartAhead = async (ms: number): Promise<void> => {
    await Promise.all(cluster.nodes.map((node) => node.stop()))
    // One after the other: each sets the clock of the database.
    for (const index of cluster.nodes.keys()) await cluster.restartNode(index, { CLOCK_AHEAD_MS: String(ms) })
  }
  const relays = { server: cluster.server, nodes: () => cluster.nodes, disturbances, restartAhead }
  await runPaymentLaw(t, world, relays, { orders: 250, notices: 5000 })
}

describe('Law of payments', () => {
  for (const version of [1, 2] as const) {
    test(
      `Three killed nodes, epay ${version}, seed ${seed} – credits and listed are the genuine payments`,
      { skip },
      (t) => runOnCluster(t, version),
    )
  }
})
