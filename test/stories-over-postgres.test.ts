/**
 * The stories of money, streams and limits on a node of a cluster: the same as on one relay alone, which the files named
 * below run by themselves. Left out, in one line, where PostgreSQL is not installed.
 */

import { after, test } from 'node:test'
import { startPostgres, withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { startRelaysWith } from './relay-process.ts'

if (withoutPostgres === false) {
  const server = await startPostgres()
  const urls = new Map<string, Promise<string>>()
  startRelaysWith(async (dataDir) => {
    const url = urls.get(dataDir) ?? server.migratedDatabase()
    urls.set(dataDir, url)
    return { DATABASE_URL: await url }
  })
  await import('./streams.test.ts')
  await import('./billing.test.ts')
  await import('./money-caps.test.ts')
  await import('./idempotency.test.ts')
  await import('./request-retention.test.ts')
  // After the relays of the stories, which are ended in the order of their making.
  after(() => server.remove())
} else {
  test('the stories over PostgreSQL', { skip: withoutPostgres }, () => undefined)
}
