/**
 * Upstreams: the places that serve models. A row is provider, address, credential, order and what it costs us. The
 * credential and the proxy's address are sealed with the row's id and never come back out of this file's views.
 */

import { refuse, type Refusal } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { Sealer } from '../lib/encryption.ts'
import { auditRow } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql, type UpstreamsTable } from '../db/schema/schema.ts'
import { isReferenced, isTaken, isUnmet } from '../db/store-error.ts'
import { lastFourOf } from './credentials.ts'
import {
  changesOf,
  newTimeouts,
  parsedCosts,
  parsedSettings,
  parsedTimeouts,
  shownProxy,
  timeoutsMerged,
  type UpstreamCosts,
  type UpstreamPatch,
  type UpstreamRules,
  type UpstreamTimeouts,
} from './upstream-fields.ts'
import type { UpstreamSettings } from '../providers/provider.ts'

export interface Upstream {
  readonly id: string
  readonly name: string
  readonly provider: string
  readonly baseUrl: string
  /** Without user name and password. */
  readonly proxy: string | null
  /** Lower is tried first. */
  readonly priority: number
  /** Share among equals of one priority; 0 only when no other is left. */
  readonly weight: number
  readonly prices: UpstreamCosts | null
  /** Only what was set; defaults in upstream-fields.ts. */
  readonly timeouts: UpstreamTimeouts
  readonly onAbort: 'cancel' | 'drain'
  readonly enabled: boolean
  readonly settings: UpstreamSettings
  /** How often it is checked when nobody asks it; null is never. */
  readonly healthCheckMs: number | null
  /** Of the credential itself; null where it is too short to show any. */
  readonly lastFour: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface UpstreamInput extends UpstreamPatch {
  readonly name: string
  readonly provider: string
  readonly baseUrl: string
  /** May be empty where the provider needs none. */
  readonly credential: string
}

export function upstreamOf(row: UpstreamsTable, sealer: Sealer): Upstream {
  return {
    id: row.id,
    name: row.name,
    provider: row.provider,
    baseUrl: row.base_url,
    proxy: row.proxy === null ? null : shownProxy(sealer.unseal(row.proxy, row.id)),
    priority: row.priority,
    weight: row.weight,
    prices: parsedCosts(row.prices),
    timeouts: parsedTimeouts(row.timeouts),
    onAbort: row.on_abort,
    enabled: row.enabled === 1,
    settings: parsedSettings(row.settings),
    healthCheckMs: row.health_check_ms,
    lastFour: lastFourOf(sealer.unseal(row.credential, row.id)),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function noSuchUpstream(): Refusal {
  return refuse('not_found', { message: 'There is no such upstream.' })
}

function refusalFor(error: unknown): unknown {
  if (isTaken(error, 'upstreams.name')) {
    return refuse('conflict', { param: 'name', message: 'An upstream of this name exists.' })
  }
  return isUnmet(error, 0) ? noSuchUpstream() : error
}

/** What the audit log may know: which fields, and their values unless secret. */
function audited(set: Partial<UpstreamsTable>): object {
  const { credential, proxy, ...open } = set
  return {
    ...open,
    ...(credential === undefined ? {} : { credential: 'changed' }),
    ...(proxy === undefined ? {} : { proxy: proxy === null ? null : 'changed' }),
  }
}

/** Refuses with 400 naming the field, or with 409 when the name is taken. */
export async function createUpstream(
  db: Db,
  input: UpstreamInput,
  rules: UpstreamRules,
): Promise<Changed<Upstream>> {
  const now = Date.now()
  const id = newId('ups')
  const row: UpstreamsTable = {
    id,
    name: '',
    provider: input.provider,
    base_url: '',
    credential: '',
    proxy: null,
    priority: 0,
    weight: 1,
    prices: null,
    timeouts: newTimeouts(input.timeouts),
    on_abort: 'cancel',
    enabled: 1,
    settings: '{}',
    health_check_ms: null,
    created_at: now,
    updated_at: now,
    ...changesOf(input, id, rules),
  }
  try {
    await db.write(
      expecting(sql.insertInto('upstreams').values(row), 1),
      auditRow(rules.by, 'upstream.create', id, audited(row)),
    )
  } catch (error) {
    throw refusalFor(error)
  }
  return { value: upstreamOf(row, rules.sealer), changes: [{ kind: 'upstream', id }] }
}

/** By id or by name. */
export async function upstreamRow(db: Db, idOrName: string): Promise<UpstreamsTable | undefined> {
  const rows = await db.all(
    sql
      .selectFrom('upstreams')
      .selectAll()
      .where((build) => build.or([build('id', '=', idOrName), build('name', '=', idOrName)])),
  )
  return rows.find((row) => row.id === idOrName) ?? rows[0]
}

export async function upstreamById(db: Db, idOrName: string, sealer: Sealer): Promise<Upstream | undefined> {
  const row = await upstreamRow(db, idOrName)
  return row === undefined ? undefined : upstreamOf(row, sealer)
}

export async function listUpstreams(db: Db, sealer: Sealer): Promise<Upstream[]> {
  const rows = await db.all(sql.selectFrom('upstreams').selectAll().orderBy('priority').orderBy('name'))
  return rows.map((row) => upstreamOf(row, sealer))
}

/** Refuses with 404 for an unknown id, 400 naming the field, 409 when the name is taken. */
export async function updateUpstream(
  db: Db,
  id: string,
  patch: UpstreamPatch,
  rules: UpstreamRules,
): Promise<Changed<Upstream>> {
  const set = { ...changesOf(patch, id, rules), updated_at: Date.now() }
  let update = sql.updateTable('upstreams').set(set).where('id', '=', id)
  if (patch.timeouts !== undefined) update = update.set(timeoutsMerged(patch.timeouts))
  try {
    await db.write(expecting(update, 1), auditRow(rules.by, 'upstream.update', id, audited(set)))
  } catch (error) {
    throw refusalFor(error)
  }
  const upstream = await upstreamById(db, id, rules.sealer)
  if (upstream === undefined) throw noSuchUpstream()
  return { value: upstream, changes: [{ kind: 'upstream', id }] }
}

/** Refuses with 404 for an unknown id, 409 while models are routed to it. */
export async function deleteUpstream(db: Db, id: string, by: string): Promise<Changed<undefined>> {
  const routed = sql.selectFrom('routes').select('model_id').where('upstream_id', '=', id)
  const models = await db.all(routed.orderBy('model_id').limit(5))
  if (models.length > 0) throw routedStill(models.map((route) => route.model_id))
  try {
    await db.write(
      expecting(sql.deleteFrom('upstreams').where('id', '=', id), 1),
      auditRow(by, 'upstream.delete', id),
    )
  } catch (error) {
    throw isReferenced(error) ? routedStill([]) : refusalFor(error)
  }
  return { value: undefined, changes: [{ kind: 'upstream', id }] }
}

function routedStill(models: readonly string[]): Refusal {
  const names = models.length === 0 ? '' : `: ${models.join(', ')}`
  return refuse('conflict', { message: `Models still have routes to this upstream${names}.` })
}
