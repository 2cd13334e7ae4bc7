/**
 * Preloaded into an end-to-end test file: its relays are nodes of clusters, each cluster with its own database in the
 * PostgreSQL at TEST_CLUSTER_POSTGRES. Rates are counted in the Redis at TEST_CLUSTER_REDIS; if that is empty, each
 * node enforces its share. run.ts starts both servers.
 */

import { createFromTemplate } from '../../../src/db/postgres/postgres.fixture.ts'
import { setRelaySettings } from '../server/relay-process.ts'

const { TEST_CLUSTER_POSTGRES: server = '', TEST_CLUSTER_REDIS: redis = '' } = process.env
const urls = new Map<string, Promise<string>>()

setRelaySettings(async (dataDir) => {
  const url = urls.get(dataDir) ?? createFromTemplate(server, `e2e_${process.pid}_${urls.size + 1}`)
  urls.set(dataDir, url)
  return { DATABASE_URL: await url, ...(redis !== '' && { REDIS_URL: redis }) }
})
