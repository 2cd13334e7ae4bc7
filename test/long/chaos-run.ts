/**
 * The chaos run: three nodes behind a balancer, a crowd that never stops asking and never asks twice, and everything
 * that can die dying in turn: workers, nodes, the database, Redis; and upstreams that fail. Afterwards the history has
 * to add up, and hardly anybody may have noticed.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openClient, runTexts } from '../../src/db/postgres/connection.ts'
import { startRedis, type RedisServer } from '../../src/shared/redis.fixture.ts'
import { openBalancer } from '../support/server/load-balancer.ts'
import { openCluster, until, type Cluster } from '../cluster.ts'
import { crashEnv } from '../crash-trials.ts'
import { planOf, type Told } from '../support/client/concurrent-clients.ts'
import { crowdAt } from '../outages.ts'

/** Nobody fails twice by one death, so that two deaths are no more than ten failures. */
const callers = 5
const nodes = 3

type Mishap = (place: Cluster & { redis: RedisServer }, round: number) => Promise<void>

/** One after the other, in every round. */
const mishaps: readonly Mishap[] = [
  async ({ nodes: all }, round) => all[round % all.length]?.signal('SIGUSR2'),
  async ({ postgres }) => {
    await postgres.stop()
    await postgres.start()
  },
  async (place, round) => {
    const index = (round + 1) % place.nodes.length
    await place.nodes[index]?.kill()
    await place.again(index)
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

/** Failed, and not by an upstream that broke off in the middle and said so. */
function isOurs({ name, isWhole, isExplained }: Told): boolean {
  return !isWhole && !(planOf(name, true).isCut && isExplained)
}

export interface ChaosRun {
  readonly requests: number
  /** How often each mishap happens. */
  readonly rounds: number
  /** On a machine that is too busy for so many requests it is over after so long, with all mishaps. */
  readonly mostMs: number
}

/** So many requests, of which at most one in a thousand may fail by our fault. */
export async function chaosRun(t: TestContext, { requests, rounds, mostMs }: ChaosRun): Promise<void> {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const cluster = await openCluster(t, nodes, { REDIS_URL: redis.url, LOG_LEVEL: 'warn', ...crashEnv })
  const urls = cluster.nodes.map(({ url }) => url)
  const balancer = await openBalancer(t, urls)
  const asking = await crowdAt(cluster, { hasFaults: true, urlOf: () => balancer.url })
  const { crowd, account } = asking
  // Counted in Redis while it is there.
  await account.change({ limits: { rpm: 10_000_000, concurrency: 1000 } })
  const startedAt = performance.now()
  crowd.come(callers, requests)
  const steps = rounds * mishaps.length
  for (let step = 0; step < steps; step += 1) {
    const share = (step + 0.5) / steps
    const isDue = (): boolean =>
      crowd.told.length >= requests * share || performance.now() - startedAt > mostMs * share
    await until(isDue, mostMs)
    await mishaps[step % mishaps.length]?.({ ...cluster, redis }, Math.floor(step / mishaps.length))
  }
  await until(() => crowd.told.length === requests || performance.now() - startedAt > mostMs, 2 * mostMs)
  const calls = await crowd.ended()
  const seconds = (performance.now() - startedAt) / 1000
  const failed = calls.filter(isOurs)
  const broken = calls.filter((told) => planOf(told.name, true).isCut)
  t.diagnostic(
    `${calls.length} requests in ${seconds.toFixed(0)} s, ${steps} mishaps: ${failed.length} failures of ours, ` +
      `${broken.length} answers that upstreams broke off`,
  )
  const kinds = Map.groupBy(failed, ({ status }) => status)
  for (const [status, of] of kinds) t.diagnostic(`${of.length} × ${status}`)
  assert.ok(!kinds.has(401), 'a key that is good was refused')
  assert.ok(failed.length <= requests / 1000, `${failed.length} failures of ours`)
  await asking.prove()
  await noDoubles(cluster.url)
}

/** By the database alone: nothing is entered twice under one name, and nothing is left open. */
async function noDoubles(url: string): Promise<void> {
  const client = await openClient({ url, name: 'history', statementMs: 60_000 })
  const rowsOf = async (sql: string): Promise<unknown> => (await runTexts(client, sql))[0]
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
