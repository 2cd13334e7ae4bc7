/** Stories on nodes of a cluster whose rates are counted in Redis, where other files run the same on one relay alone. */

import { after, test } from 'node:test'
import { startPostgres, withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { startRedis, withoutRedis } from '../src/shared/redis.fixture.ts'
import { startRelaysWith } from './relay-process.ts'

/** Runs files of stories over one PostgreSQL and one Redis, each relay on a database of its own. */
export async function runOverBoth(files: readonly (() => Promise<unknown>)[]): Promise<void> {
  const without = withoutPostgres === false ? withoutRedis : withoutPostgres
  if (without !== false) {
    void test('the stories over PostgreSQL and Redis', { skip: without }, () => undefined)
    return
  }
  const [server, redis] = await Promise.all([startPostgres(), startRedis()])
  const urls = new Map<string, Promise<string>>()
  startRelaysWith(async (dataDir) => {
    const url = urls.get(dataDir) ?? server.migratedDatabase()
    urls.set(dataDir, url)
    return { DATABASE_URL: await url, REDIS_URL: redis.url }
  })
  for (const file of files) await file()
  // After the relays of the stories, which are ended in the order of their making.
  after(async () => {
    await redis.stop()
    await server.remove()
  })
}
