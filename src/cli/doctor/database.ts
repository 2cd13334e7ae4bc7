/**
 * What the doctor makes of a cluster's PostgreSQL: whether it is there, new enough, and keeps what it has acknowledged;
 * and of its Redis, whether it can be had and forgets nothing that still counts.
 */

import type { Row } from '../../db/messages.ts'
import { openClient, runTexts } from '../../db/postgres/connection.ts'
import { askRedis } from '../../shared/redis-info.ts'
import { hasSluice } from '../cluster-database.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { errorWords } from '../../lib/error-message.ts'

const leastRelease = 13

async function settingsOf(url: string): Promise<Row | undefined> {
  const client = await openClient({ url, name: 'sluice doctor', statementMs: 3000 })
  try {
    const [rows = []] = await runTexts(
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
    const settings = await settingsOf(url)
    const release = Number(settings?.['release'])
    if (release < leastRelease)
      return fail(name, `PostgreSQL ${release} at ${host}`, `${leastRelease} or newer is needed.`)
    if (settings?.['fsync'] !== 'on' || settings['pages'] !== 'on') {
      const advice =
        'Turn fsync and full_page_writes on: without them a power cut loses or breaks what was acknowledged.'
      return warn(name, `PostgreSQL ${release} at ${host} does not keep what it acknowledges`, advice)
    }
    return ok(name, `PostgreSQL ${release} at ${host} answers`)
  } catch (error) {
    const why = errorWords(error)
    return fail(
      name,
      `PostgreSQL at ${host} cannot be had (${why})`,
      'See DATABASE_URL in docs/configuration.md.',
    )
  }
}

/** Whether a PostgreSQL that can be had is still to be filled; null where there is something to look at. */
export async function checkFilled(url: string): Promise<Finding | null> {
  if (await hasSluice(url)) return null
  return warn('database', 'there is no Sluice in it', 'The first start makes it; or set DATABASE_URL.')
}

export async function checkRedis(url: string): Promise<Finding> {
  const name = 'rates'
  const { host } = new URL(url)
  const answer = await askRedis(url)
  if ('problem' in answer) {
    const advice =
      'Every node admits its share of each limit meanwhile. See REDIS_URL in docs/configuration.md.'
    return warn(name, `Redis at ${host} cannot be had (REDIS_URL: ${answer.problem})`, advice)
  }
  const { release, role, evicts } = answer
  const about = `Redis ${release} at ${host}`
  if (role !== 'master')
    return warn(name, `${about} is a ${role}`, 'Name the one that takes writes in REDIS_URL.')
  if (evicts)
    return warn(name, `${about} forgets keys when it is full`, 'Set its maxmemory-policy to noeviction.')
  return ok(name, `${about} answers`)
}
