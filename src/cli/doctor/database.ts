/**
 * The doctor's checks of a cluster's PostgreSQL (reachable, recent enough, durable) and of its Redis (reachable,
 * writable, without eviction).
 */

import { currencySetting } from '../../db/currency.ts'
import { dataKeyNames, type DataKeyRows } from '../../db/data-keys.ts'
import type { Row } from '../../db/statement.ts'
import { runScriptOnce } from '../../db/postgres/connection.ts'
import { readRedisInfo } from '../../shared/redis-info.ts'
import { hasSchema } from '../cluster-database.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { errorMessage } from '../../lib/error-message.ts'

const minRelease = 13

/** From this part of the connections on, a start of a node or a burst of requests may use up the rest. */
const maxConnectionsUsed = 0.8
/** A running node sends a heartbeat every two seconds. */
const silentAfterSeconds = 15

const readRows = (url: string, script: string): Promise<Row[]> =>
  runScriptOnce({ url, name: 'sluice doctor', statementMs: 3000 }, script)

async function readSettings(url: string): Promise<Row | undefined> {
  const [row] = await readRows(
    url,
    `select current_setting('server_version_num')::int / 10000 as release, current_setting('fsync') as fsync,
      current_setting('full_page_writes') as pages`,
  )
  return row
}

/** A warning if few connections are left for the nodes. */
export async function checkConnections(url: string): Promise<Finding> {
  const [row] = await readRows(
    url,
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
      sum(numbackends)::int as used from pg_stat_database`,
  )
  return assessConnections(Number(row?.['used']), Number(row?.['most']))
}

export function assessConnections(used: number, most: number): Finding {
  const [name, detail] = ['connections', `${used} of ${most} connections of PostgreSQL are in use`]
  if (used < most * maxConnectionsUsed) return ok(name, detail)
  return warn(name, detail, 'Raise its max_connections, or let other programs use fewer connections.')
}

/** A warning for each node that stopped sending heartbeats without being stopped or retired. */
export async function checkNodes(url: string): Promise<Finding[]> {
  const rows = await readRows(
    url,
    `select id, name, floor(extract(epoch from clock_timestamp()) - seen_at / 1000)::int as seconds from nodes
      where state = 'running' and seen_at < (extract(epoch from clock_timestamp()) - ${silentAfterSeconds}) * 1000
      order by id`,
  )
  return rows.map((row) => {
    const [id, machine, seconds] = [row['id'], row['name'], row['seconds']].map(String)
    const advice = `Start it again; if it is gone for good, run sluice node retire ${id}. Until then its open requests hold money.`
    return warn('nodes', `${id} (${machine}) has been silent for ${seconds} s`, advice)
  })
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

/** What the database of a cluster has of the data keys. */
export async function readClusterKeys(url: string): Promise<DataKeyRows> {
  const names = Object.values(dataKeyNames).map((name) => `'${name}'`)
  const rows = await readRows(url, `select name, value from settings where name in (${names.join(', ')})`)
  return new Map(rows.map(({ name, value }) => [String(name), String(value)]))
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

/** The currency of the cluster; null: none yet. */
export async function readClusterCurrency(url: string): Promise<string | null> {
  const [row] = await readRows(url, `select value from settings where name = '${currencySetting}'`)
  return row === undefined ? null : String(row['value'])
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
