/** What stories about a database that goes away share. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Account } from './support/server/account.ts'
import { served, until, type Cluster } from './cluster.ts'
import { Crowd, UpstreamMeter } from './support/client/concurrent-clients.ts'
import { onThisMachine } from './machine.ts'
import { historyPrices, proveHistory } from './long/verify-history.ts'

const balance = '1000'
/** Service is back so soon after the database is. */
const backWithinMs = 3000

export interface Callers {
  readonly crowd: Crowd
  readonly account: Account
  /** Ends the crowd, and proves what has happened. */
  prove(): Promise<void>
}

/** A model by two upstreams, and a crowd over all nodes that asks for it. */
export async function crowdAt(
  cluster: Cluster,
  {
    hasFaults = false,
    urlOf,
  }: { readonly hasFaults?: boolean; readonly urlOf?: (call: number) => string } = {},
): Promise<Callers> {
  const { house, nodes } = cluster
  const meter = new UpstreamMeter(hasFaults)
  const upstreams = [await house.upstream(meter.first), await house.upstream(meter.second)]
  await house.model('m', { upstreams, prices: historyPrices })
  const account = await house.account({ balance })
  await served(cluster, account.key.secret)
  const inTurn = (call: number): string => nodes[call % nodes.length]?.url ?? house.url
  const crowd = new Crowd(account, urlOf ?? inTurn, hasFaults)
  return {
    crowd,
    account,
    async prove() {
      await proveHistory(house, account, await crowd.ended(), { meter, balance })
    },
  }
}

export interface Outage {
  readonly ms: number
  readonly signal: 'SIGINT' | 'SIGKILL'
  /** What happens as soon as it is away. */
  readonly meanwhile?: () => void
  /** What brings it back, where it is not started again. */
  readonly mend?: () => Promise<void>
}

/** Takes the database away for a while; looks at what callers are told meanwhile, and how soon they are served again. */
export async function outage(
  { nodes, postgres }: Cluster,
  { crowd }: Callers,
  { ms, signal, meanwhile, mend = () => postgres.start() }: Outage,
): Promise<void> {
  await crowd.reached(crowd.told.length + 200)
  const before = crowd.told.length
  await postgres.stop(signal)
  meanwhile?.()
  await delay(ms)
  await mend()
  const startedAt = performance.now()
  const then = crowd.told.length
  await until(() => crowd.told.slice(then).some(({ isWhole }) => isWhole))
  for (const { url } of nodes) await until(async () => (await fetch(`${url}/readyz`)).status === 200)
  const backMs = performance.now() - startedAt
  assert.ok(backMs < onThisMachine(backWithinMs), `service was back after ${Math.round(backMs)} ms`)
  await crowd.reached(crowd.told.length + 200)
  for (const { status, mayReturn, isWhole } of crowd.told.slice(before)) {
    assert.ok(status === 503 ? mayReturn : isWhole, `a caller was told ${status}`)
  }
}
