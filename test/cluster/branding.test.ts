// @backend postgres – starts its own cluster
/** The branding on several nodes: a change on one is shown by the others, and by a node that starts later. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { createPng } from '../../src/lib/image-files.fixture.ts'
import { startCluster } from '../support/server/cluster.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason

describe('Branding of a cluster', () => {
  test('change on one node – reaches every worker of the others without a restart', { skip }, async (t) => {
    const cluster = await startCluster(t, 2, { WORKERS: '2' })
    const [first, second] = cluster.nodes
    assert.ok(first && second)
    const logo = createPng({ width: 10, height: 10 })
    await first.admin('PUT', '/branding', {
      name: 'Acme AI',
      logo: logo.toString('base64'),
      terms: 'Be kind.',
    })
    const shows = async (url: string, path: string, expected: string): Promise<boolean> =>
      (await (await fetch(`${url}${path}`, { headers: { connection: 'close' } })).text()).includes(expected)
    for (const { url } of cluster.nodes) {
      // Each connection may be another worker's.
      for (let round = 0; round < 4; round += 1) {
        await waitUntil(() => shows(url, '/terms', 'Be kind.'))
        await waitUntil(() => shows(url, '/status', '>Acme AI</p>'))
      }
      const served = Buffer.from(await (await fetch(`${url}/branding/logo`)).arrayBuffer())
      assert.deepEqual(served, logo)
    }
    await second.admin('PUT', '/branding', { name: 'Bravo AI' })
    await waitUntil(() => shows(first.url, '/status', '>Bravo AI</p>'))
    await second.stop()
    const { url } = await cluster.restartNode(1)
    assert.ok(await shows(url, '/terms', 'Bravo AI'))
  })
})
