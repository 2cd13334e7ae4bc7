/**
 * Loaded ahead of a file of stories: its relays are nodes of clusters, each with a database of its own in the PostgreSQL
 * at STORIES_POSTGRES. Their rates are counted in the Redis at STORIES_REDIS; with none there each node has its share.
 * run.ts starts both.
 */

import { copyOfTemplate } from '../src/db/postgres/postgres.fixture.ts'
import { startRelaysWith } from './support/server/relay-process.ts'

const { STORIES_POSTGRES: server = '', STORIES_REDIS: redis = '' } = process.env
const urls = new Map<string, Promise<string>>()

startRelaysWith(async (dataDir) => {
  const url = urls.get(dataDir) ?? copyOfTemplate(server, `stories_${process.pid}_${urls.size + 1}`)
  urls.set(dataDir, url)
  return { DATABASE_URL: await url, ...(redis !== '' && { REDIS_URL: redis }) }
})
