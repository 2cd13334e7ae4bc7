// @backend postgres – stops the database of its own cluster
// @suite all – an outage of the database
/** The status page of a node while PostgreSQL is unavailable, and the incident that is written afterwards. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { addModel, startCluster } from '../support/server/cluster.ts'
import { readRelayApi, readStatus, rejectRequests } from '../support/server/status.ts'
import { waitUntil } from '../support/wait.ts'

interface Incident {
  title: string
  opened_at: string
  closed_at: string | null
}

const skip = postgresSkipReason

describe('Status page', () => {
  test(
    'PostgreSQL unavailable – is shown from memory; its incident is written later',
    { skip },
    async (t) => {
      const cluster = await startCluster(t, 1, { INCIDENT_RECOVERY: '1s' })
      const { server, postgres } = cluster
      await addModel(cluster)
      const account = await server.account({ balance: '1' })
      const listIncidents = async (): Promise<Incident[]> =>
        (await server.admin<{ data: Incident[] }>('GET', '/incidents')).data
      await postgres.stop()
      // `/readyz` asks the database itself, and so fails earlier.
      await waitUntil(() => server.log.some((line) => line.includes('admission halted')))
      assert.equal((await fetch(`${server.url}/readyz`)).status, 503)
      await rejectRequests(account, 10)
      // The page has never been read before.
      await waitUntil(async () => (await readStatus(server.url)).incidents.length > 0)
      const { state, components, models, incidents } = await readStatus(server.url)
      assert.deepEqual([state, components[0]?.state, models[0]?.state], ['down', 'down', 'down'])
      assert.equal(incidents[0]?.title, 'Relay API: requests are rejected')

      await postgres.start()
      await waitUntil(async () => (await fetch(`${server.url}/readyz`)).status === 200)
      await waitUntil(async () => ((await listIncidents())[0]?.closed_at ?? null) !== null)
      const recorded = await listIncidents()
      assert.deepEqual(
        recorded.map(({ title, opened_at: openedAt }) => [title, openedAt]),
        [[incidents[0]?.title, incidents[0]?.opened_at]],
      )
      await waitUntil(async () => (await readRelayApi(server)).total.failed >= 10)
      await waitUntil(async () => (await readStatus(server.url)).state === 'up')
    },
  )
})
