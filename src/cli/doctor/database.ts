/**
 * The doctor's checks of a cluster's PostgreSQL (reachable, recent enough, durable) and of its Redis (reachable,
 * writable, without eviction).
 */

import type { Row } from '../../db/statement.ts'
import { openClient, runScript } from '../../db/postgres/connection.ts'
import { readRedisInfo } from '../../shared/redis-info.ts'
import { hasSchema } from '../cluster-database.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { errorMessage } from '../../lib/error-message.ts'

const minRelease = 13

async function readSettings(url: string): Promise<Row | undefined> {
  const client = await openClient({ url, name: 'sluice doctor', statementMs: 3000 })
  try {
    const [rows = []] = await runScript(
      client,
      `select current_setting('server_version_num')::int / 10000 as release, current_setting('fsync') as fsync,
        current_setting('full_page_writes') as pages`,
    )
    return rows[0]
  } finally {
    await client.end()
  }
}

export async function checkPostgres(url: string): Promise<Finding> {
  const name = 'database'
  const { host } = new URL(url)
  try {
    const settings = await readSettings(url)
    const release = Number(settings?.['release'])
    if (release < minRelease)
      return fail(name, `PostgreSQL ${release} at ${host}`, `Use PostgreSQL ${minRelease} or newer.`)
    if (settings?.['fsync'] !== 'on' || settings['pages'] !== 'on') {
      const advice =
        'Turn on fsync and full_page_writes: without them, a power cut can lose or corrupt committed data.'
      return warn(name, `PostgreSQL ${release} at ${host} may lose committed data`, advice)
    }
    return ok(name, `PostgreSQL ${release} at ${host} is reachable`)
  } catch (error) {
    const why = errorMessage(error)
    return fail(
      name,
      `PostgreSQL at ${host} is unreachable (${why})`,
      'See DATABASE_URL in docs/configuration.md.',
    )
  }
}

/** A warning if the reachable PostgreSQL has no schema yet; otherwise `null`. */
export async function checkInitialized(url: string): Promise<Finding | null> {
  if (await hasSchema(url)) return null
  return warn(
    'database',
    'the database has no Sluice data',
    'The first start creates it. If it should exist, correct DATABASE_URL.',
  )
}

export async function checkRedis(url: string): Promise<Finding> {
  const name = 'rates'
  const { host } = new URL(url)
  const info = await readRedisInfo(url)
  if ('problem' in info) {
    const advice =
      'Until it is reachable, every node admits its share of each limit. See REDIS_URL in docs/configuration.md.'
    return warn(name, `Redis at ${host} is unreachable (REDIS_URL: ${info.problem})`, advice)
  }
  const { release, role, evicts } = info
  const about = `Redis ${release} at ${host}`
  if (role !== 'master') return warn(name, `${about} is a ${role}`, 'Set REDIS_URL to the master.')
  if (evicts)
    return warn(name, `${about} evicts keys when it is full`, 'Set its maxmemory-policy to noeviction.')
  return ok(name, `${about} is reachable`)
}
