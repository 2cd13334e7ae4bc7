/** Restarts of all nodes behind nginx, one after the other, under load. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startNginx } from '../support/deploy/nginx.ts'
import { startCluster } from '../support/server/cluster.ts'
import { startTraffic } from './database-outage.ts'

/** About a hundred requests per second, and fewer on a busy machine, which could not serve them in time. */
const load = { clients: 20, pauseMs: 200 }

/**
 * Restarts every node the way an upgrade does (SIGTERM, start, wait for `/readyz`), again and again until this many
 * requests, half of them streams, are answered. Checks that none failed and that each was charged once.
 */
export async function runRollingRestarts(
  t: TestContext,
  { nodes, requests }: { readonly nodes: number; readonly requests: number },
): Promise<void> {
  // The drain delay that the nginx file is written for. Both workers of a node have a listener of their own.
  const env = { WORKERS: '2', DRAIN_DELAY: '5s', LOG_LEVEL: 'warn' }
  const cluster = await startCluster(t, nodes, env)
  const { port } = await startNginx(
    t,
    'compose',
    cluster.nodes.map(({ url }) => url),
  )
  const traffic = await startTraffic(cluster, { urlOf: () => `http://127.0.0.1:${port}` })
  const { clients } = traffic
  clients.start(load.clients, Infinity, load.pauseMs)
  do {
    for (const [index, node] of cluster.nodes.entries()) {
      assert.deepEqual(await node.stop(), { code: 0, signal: null })
      await cluster.restartNode(index)
    }
  } while (clients.calls.length < requests)
  await traffic.verify()
  t.diagnostic(`${clients.calls.length} requests`)
  assert.deepEqual(
    clients.calls.filter(({ isComplete }) => !isComplete),
    [],
  )
}
