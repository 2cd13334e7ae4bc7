/** Outages of the database that are longer than any timeout. */
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { startCluster } from '../support/server/cluster.ts'
import { startTraffic, runOutage } from './database-outage.ts'

describe('Database outages', () => {
  for (const seconds of [30, 300]) {
    test(
      `PostgreSQL down for ${seconds} s under load – 503, never 401; recovery within 3 s`,
      { skip: postgresSkipReason },
      async (t) => {
        const cluster = await startCluster(t, 3, { LOG_LEVEL: 'warn' })
        const traffic = await startTraffic(cluster)
        traffic.clients.start(12)
        await runOutage(cluster, traffic, { ms: seconds * 1000, signal: 'SIGINT' })
        await traffic.verify()
      },
    )
  }
})
