/** Outages of the database that are longer than anybody waits. */
import { test } from 'node:test'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { openCluster } from './cluster.ts'
import { crowdAt, outage } from './outages.ts'

for (const seconds of [30, 300]) {
  test(
    `PostgreSQL away for ${seconds} s under load: 503 and never 401, back within 3 s, nothing is lost or doubled`,
    { skip: withoutPostgres },
    async (t) => {
      const cluster = await openCluster(t, 3, { LOG_LEVEL: 'warn' })
      const callers = await crowdAt(cluster)
      callers.crowd.come(12)
      await outage(cluster, callers, { ms: seconds * 1000, signal: 'SIGINT' })
      await callers.prove()
    },
  )
}
