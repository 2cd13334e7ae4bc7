/** The doctor's checks of the relay: its process, the database, models and upstreams. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { localJournalFileName } from '../../db/sqlite/local-journal.ts'
import { currencySetting } from '../../db/currency.ts'
import { getSetting } from '../../db/settings.ts'
import { readDataKeyRows, type DataKeyRows } from '../../db/data-keys.ts'
import { toStoreFailure } from '../../db/store-error.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { sql } from '../../db/schema/schema.ts'
import { parseCidrs } from '../../lib/address-guard.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { parseProxy } from '../../lib/http-client/proxy.ts'
import { isRelayRunning } from '../../process/control-socket.ts'
import { findLockHolder } from '../../db/sqlite/data-directory-lock.ts'
import { checkConnection } from '../../process/connection-checks.ts'
import type { RotationStatus } from '../../process/key-rotation/key-rotation.ts'
import { listAll, withAdminClient, type AdminClient } from '../admin-client.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { CommandError, fieldAt, asFields, type Fields } from '../output.ts'

const connectTimeoutMs = 5000

/** Whether a relay is running, and whether its control socket responds. */
export async function checkRelay(dataDir: string): Promise<{ finding: Finding; isRunning: boolean }> {
  const name = 'relay'
  const isRunning = await isRelayRunning(dataDir)
  const holder = findLockHolder(dataDir)
  if (holder === null) return { finding: ok(name, `not running on ${dataDir}`), isRunning: false }
  if (isRunning) return { finding: ok(name, `${holder} is running`), isRunning }
  const advice = 'It is starting or stopping, or another command is running. Try again in a moment.'
  return {
    finding: warn(name, `${holder} has locked ${dataDir}, but its control socket does not respond`, advice),
    isRunning,
  }
}

interface DatabaseCheck {
  readonly finding: Finding
  /** When its ledger was last written. */
  readonly lastWrittenMs: number | null
  /** Empty if they cannot be read. */
  readonly keys: DataKeyRows
  /** Of the store; null: none yet, or it cannot be read. */
  readonly currency: string | null
}

/** Whether the file can be opened and is intact. */
export async function checkDatabase(dataDir: string): Promise<DatabaseCheck> {
  const name = 'database'
  const none: DataKeyRows = new Map()
  const path = join(dataDir, 'sluice.db')
  const advice = 'Keep the file unchanged and restore a backup: sluice restore <folder> --force.'
  try {
    using database = openReadOnly(path)
    const problems = database.findDamage()
    const last = await database.db.first(
      sql.selectFrom('journal').select('at').orderBy('seq', 'desc').limit(1),
    )
    const lastWrittenMs = last?.at ?? null
    if (problems.length > 0)
      return {
        finding: fail(name, `${path} is damaged: ${problems[0]}`, advice),
        lastWrittenMs,
        keys: none,
        currency: null,
      }
    const keys = await readDataKeyRows(database.db)
    const currency = (await getSetting(database.db, currencySetting)) ?? null
    return { finding: ok(name, `${path} is intact`), lastWrittenMs, keys, currency }
  } catch (error) {
    const why = errorMessage(error)
    const finding =
      toStoreFailure(error).class === 'full'
        ? warn(name, `Cannot read ${path} now: ${why}`, 'Run doctor again when there is disk space.')
        : fail(name, `Cannot open ${path}: ${why}`, advice)
    return { finding, lastWrittenMs: null, keys: none, currency: null }
  }
}

/** The id of the cluster node that uses this data directory; nothing before its first start. */
export async function checkNode(dataDir: string): Promise<Finding[]> {
  const name = 'node'
  const path = join(dataDir, localJournalFileName)
  if (!existsSync(path)) return []
  try {
    using database = openReadOnly(path)
    const query = { sql: `select value from facts where name = 'node'`, parameters: [] }
    const known = await database.db.first<{ value: string }>(query)
    return known === undefined ? [] : [ok(name, `${known.value} (see sluice node list)`)]
  } catch (error) {
    const advice = 'Keep the file unchanged: it may contain settlements that are missing in the database.'
    return [fail(name, `Cannot open ${path}: ${errorMessage(error)}`, advice)]
  }
}

function routesOf(model: Fields): Fields[] {
  return Array.isArray(model['routes']) ? model['routes'].map(asFields) : []
}

function upstreamIdsOf(model: Fields): unknown[] {
  return routesOf(model).map((route) => route['upstream'])
}

function checkModels(models: readonly Fields[], upstreams: readonly Fields[]): Finding[] {
  const name = 'models'
  if (models.length === 0) return [warn(name, 'no models', 'Add models: sluice seed, or sluice model add.')]
  const enabled = new Set(upstreams.filter((each) => each['enabled'] === true).map((each) => each['id']))
  const idsOf = (which: (model: Fields) => boolean): string =>
    models
      .filter(which)
      .map((model) => String(model['id']))
      .join(', ')
  const unpriced = idsOf((model) => fieldAt(model, 'prices') === undefined)
  const unrouted = idsOf((model) => upstreamIdsOf(model).length === 0)
  const unserved = idsOf((model) => {
    const ids = upstreamIdsOf(model)
    return ids.length > 0 && !ids.some((id) => enabled.has(id))
  })
  const findings: Finding[] = []
  if (unpriced !== '') findings.push(warn(name, `no price: ${unpriced}`, 'sluice model price <id> …'))
  if (unrouted !== '') {
    findings.push(warn(name, `no route: ${unrouted}`, 'sluice model set <id> --route <upstream>=<model>'))
  }
  if (unserved !== '') {
    findings.push(warn(name, `only on disabled upstreams: ${unserved}`, 'sluice upstream enable <upstream>'))
  }
  return findings.length > 0 ? findings : [ok(name, `${models.length}, each with a price and a route`)]
}

async function checkUpstream(
  client: AdminClient,
  upstream: Fields,
  checks: UpstreamChecks,
): Promise<Finding> {
  const label = String(upstream['name'])
  const name = `upstream ${label}`
  if (upstream['enabled'] !== true) return ok(name, 'disabled, not checked')
  if (upstream['provider'] === 'demo') return ok(name, 'the built-in demo')
  const url = String(upstream['base_url'])
  if (!checks.calls) {
    const proxy = typeof upstream['proxy'] === 'string' ? parseProxy(upstream['proxy']) : null
    const target = proxy === null ? url : `${proxy.tls ? 'https' : 'http'}://${proxy.authority}`
    const {
      ok: isReachable,
      message,
      durationMs,
    } = await checkConnection(target, checks.allow, connectTimeoutMs)
    const detail = `${proxy === null ? url : `proxy ${proxy.authority}`}: ${message}, ${durationMs} ms`
    return isReachable
      ? ok(name, detail)
      : fail(name, detail, 'Check its URL, the network and UPSTREAM_ALLOW.')
  }
  const advice = `Test it: sluice upstream test ${label} --model <its name of a model>`
  try {
    const { isOk, message } = await testUpstream(client, upstream['id'], checks.routes)
    const detail = `${url}: ${message}`
    return isOk ? ok(name, detail) : fail(name, detail, advice)
  } catch (error) {
    // No request could be sent, for example because no model is known: check the other upstreams nevertheless.
    if (!(error instanceof CommandError)) throw error
    return warn(name, `${url}: ${error.message}`, advice)
  }
}

/** Sends a cheap request for the model of one of its routes, listed or not; without routes, the relay chooses one. */
async function testUpstream(
  client: AdminClient,
  id: unknown,
  routes: readonly Fields[],
): Promise<{ isOk: boolean; message: string }> {
  const model = routes.find((route) => route['upstream'] === id)?.['model']
  const path = `/upstreams/${encodeURIComponent(String(id))}/test`
  const result = asFields(await client.call('POST', path, { model }))
  return { isOk: result['ok'] === true, message: String(result['message']) }
}

interface UpstreamChecks {
  /** The routes of all models. */
  readonly routes: readonly Fields[]
  /** Send requests to upstreams, not only connect. */
  readonly calls: boolean
  readonly allow: ReturnType<typeof parseCidrs>
}

function serviceAdvice(error: Error): string {
  return error instanceof CommandError ? "See the relay's log." : 'Start the relay and check its output.'
}

/** Whether a rotation of the encryption key has to be started, continued or cleaned up. */
async function checkEncryptionKey(client: AdminClient): Promise<Finding[]> {
  const name = 'encryption key'
  const status = (await client.call('GET', '/rotate-key')) as RotationStatus
  if (status.phase === 'distributing' || status.phase === 'resealing') {
    const advice = 'Run sluice rotate-key again. Until then, keep ENCRYPTION_KEY_PREVIOUS.'
    return [warn(name, `the rotation that began at ${status.at} is unfinished`, advice)]
  }
  if (status.needs_rotation)
    return [
      warn(name, 'ENCRYPTION_KEY is not in use yet: ENCRYPTION_KEY_PREVIOUS is', 'Run sluice rotate-key.'),
    ]
  return status.has_previous_key ? [ok(name, 'ENCRYPTION_KEY_PREVIOUS can be removed')] : []
}

/** Checks the encryption key, the models and the upstreams through the control socket. */
export async function checkService(config: Config, calls: boolean): Promise<Finding[]> {
  try {
    return await withAdminClient('doctor', async (client) => {
      const [models, upstreams] = await Promise.all([
        listAll(client, '/models'),
        listAll(client, '/upstreams'),
      ])
      const routes = models.flatMap(routesOf)
      const checks = { calls, routes, allow: parseCidrs(config.upstreamAllow.join(',')) }
      const upstreamFindings = upstreams.map((upstream) => checkUpstream(client, upstream, checks))
      const keyFindings = await checkEncryptionKey(client)
      return [...keyFindings, ...checkModels(models, upstreams), ...(await Promise.all(upstreamFindings))]
    })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return [fail('service', error.message, serviceAdvice(error))]
  }
}
