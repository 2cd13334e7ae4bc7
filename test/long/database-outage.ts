/** Outages of a cluster's database under load. */
import assert from 'node:assert/strict'
import type { Account } from '../support/server/account.ts'
import { type Cluster, waitUntilApplied, waitUntilServed } from '../support/server/cluster.ts'
import { ConcurrentClients, UpstreamMeter } from '../support/client/concurrent-clients.ts'
import { historyPrices, verifyHistory } from './verify-history.ts'
import { scriptedDelay, waitUntil } from '../support/wait.ts'

const balance = '1000'
/** On an idle machine, requests succeed 3 s after the database is available again. */
const maxRecoveryMs = 30_000

export interface Traffic {
  readonly clients: ConcurrentClients
  readonly account: Account
  /** Stops the clients and checks that every charge is right. */
  verify(): Promise<void>
}

/** Adds a model with two upstreams, and clients that request it from all nodes. */
export async function startTraffic(
  cluster: Cluster,
  {
    hasFaults = false,
    urlOf,
  }: { readonly hasFaults?: boolean; readonly urlOf?: (call: number) => string } = {},
): Promise<Traffic> {
  const { server, nodes } = cluster
  const meter = new UpstreamMeter(hasFaults)
  const upstreams = [await server.upstream(meter.first), await server.upstream(meter.second)]
  await server.model('m', { upstreams, prices: historyPrices })
  const account = await server.account({ balance })
  await waitUntilServed(cluster, account.key.secret)
  await waitUntilApplied(cluster)
  const roundRobin = (call: number): string => nodes[call % nodes.length]?.url ?? server.url
  const clients = new ConcurrentClients(account, urlOf ?? roundRobin, hasFaults)
  return {
    clients,
    account,
    async verify() {
      await verifyHistory(server, account, await clients.stop(), { meter, balance })
    },
  }
}

export interface OutageOptions {
  readonly ms: number
  readonly signal: 'SIGINT' | 'SIGKILL'
  /** Runs as soon as the database is stopped. */
  readonly meanwhile?: () => void
  /** Default: starts the same server again. */
  readonly recover?: () => Promise<void>
}

/** Stops the database for a while; checks the responses meanwhile and the time until requests succeed again. */
export async function runOutage(
  { nodes, postgres }: Cluster,
  { clients }: Traffic,
  { ms, signal, meanwhile, recover = () => postgres.start() }: OutageOptions,
): Promise<void> {
  await clients.waitForCalls(clients.calls.length + 100)
  const callsBefore = clients.calls.length
  await postgres.stop(signal)
  meanwhile?.()
  await scriptedDelay(ms)
  await recover()
  const startedAt = performance.now()
  const callsDuring = clients.calls.length
  await waitUntil(() => clients.calls.slice(callsDuring).some(({ isComplete }) => isComplete))
  for (const { url } of nodes) await waitUntil(async () => (await fetch(`${url}/readyz`)).status === 200)
  const backMs = performance.now() - startedAt
  assert.ok(backMs < maxRecoveryMs, `recovery took ${Math.round(backMs)} ms`)
  await clients.waitForCalls(clients.calls.length + 100)
  for (const { status, hasRetryAfter, isComplete } of clients.calls.slice(callsBefore)) {
    assert.ok(status === 503 ? hasRetryAfter : isComplete, `a client received ${status}`)
  }
}
