/**
 * Upstreams: the endpoints that serve models. A row has provider, address, credential, priority and cost. The
 * credential, the proxy's address and the added headers are encrypted with the row's id and never returned.
 */

import { apiError, type ApiError, notFound } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { Sealer } from '../lib/encryption.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges, auditFields, patchJson } from '../db/audit-changes.ts'
import type { Changed } from '../db/change.ts'
import { expectChanges, type Db } from '../db/db.ts'
import { sql, type UpstreamsTable } from '../db/schema/schema.ts'
import { isForeignKeyViolation, isUniqueViolation, isExpectationFailureOf } from '../db/store-error.ts'
import type { Json } from '../providers/json-fields.ts'
import { addedFields } from './added-fields.ts'
import { parseCosts, type UpstreamCosts } from './costs.ts'
import { lastFourOf } from './credentials.ts'
import { forgetRouteMaximums, routedModels } from './route-maximums.ts'
import {
  toColumns,
  initialOptions,
  redactProxy,
  mergeSettings,
  settingsJson,
  upstreamFields,
  type UpstreamFields,
  type UpstreamPatch,
  type UpstreamContext,
} from './upstream-fields.ts'
import { mergeTimeouts, parseTimeouts, timeoutsJson, type Timeouts } from './timeouts.ts'

export interface Upstream extends UpstreamFields {
  /** Without user name and password. */
  readonly proxy: string | null
  /** Of the headers that are added to every request. */
  readonly headerNames: readonly string[]
  /** What is added to the body of every request. */
  readonly body: Json
  readonly prices: UpstreamCosts | null
  /** Only the timeouts that were set; timeouts.ts has the defaults. */
  readonly timeouts: Timeouts
  /** Of its own credential. null if that is too short to show any of it. */
  readonly lastFour: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export type UpstreamInput = UpstreamPatch &
  Pick<UpstreamFields, 'name' | 'provider' | 'baseUrl'> & {
    /** May be empty if the provider needs none. */
    readonly credential: string
  }

export function upstreamOf(row: UpstreamsTable, sealer: Sealer): Upstream {
  const added = addedFields(row, sealer)
  return {
    ...upstreamFields(row),
    headerNames: added?.headers.map(([name]) => name) ?? [],
    body: added?.body ?? {},
    proxy: row.proxy === null ? null : redactProxy(sealer.unseal(row.proxy, row.id)),
    prices: parseCosts(row.prices),
    timeouts: parseTimeouts(row.timeouts),
    lastFour: lastFourOf(sealer.unseal(row.credential, row.id)),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function toApiError(error: unknown): unknown {
  if (isUniqueViolation(error, 'upstreams.name')) {
    return apiError('conflict', { param: 'name', message: 'An upstream with this name already exists.' })
  }
  return isExpectationFailureOf(error, 0) ? notFound('Upstream') : error
}

/** What the audit log may contain: the upstream as the API has it, without secrets. */
function toAuditDetail(row: UpstreamsTable, sealer: Sealer): object {
  const upstream = upstreamOf(row, sealer)
  const { lastFour: _credential, createdAt: _created, updatedAt: _updated, settings, ...open } = upstream
  const { maximumField, ...others } = settings
  return { ...open, body: row.body, maxTokensField: maximumField ?? null, ...others }
}

/** The changed fields; of secrets, only that they have changed. null: nothing has. */
function toAuditChanges(before: UpstreamsTable, after: UpstreamsTable, sealer: Sealer): object | null {
  const isChanged = (name: SealedField): boolean =>
    unsealed(before, name, sealer) !== unsealed(after, name, sealer)
  const changes = {
    ...(isChanged('credential') ? { credential: 'changed' } : {}),
    ...(isChanged('proxy') ? { proxy: 'changed' } : {}),
    ...(isChanged('headers') ? { headers: 'changed' } : {}),
    ...auditChanges(toAuditDetail(before, sealer), toAuditDetail(after, sealer)),
  }
  return Object.keys(changes).length === 0 ? null : changes
}

type SealedField = 'credential' | 'proxy' | 'headers'

function unsealed(row: UpstreamsTable, name: SealedField, sealer: Sealer): string | null {
  const sealed = row[name]
  return sealed === null ? null : sealer.unseal(sealed, row.id)
}

/** Where an upstream's requests go, and the secrets that they carry. */
const destinationFields = ['base_url', 'provider', 'proxy', 'credential', 'headers'] as const

/**
 * True if the credentials would be sent to another server than they were stored for: another origin, provider or proxy.
 * Then the stored ones are deleted, so that nobody who may change an upstream can read them that way.
 */
function changesDestination(
  before: UpstreamsTable,
  set: Partial<UpstreamsTable>,
  { sealer }: UpstreamContext,
): boolean {
  const after = { ...before, ...set }
  return (
    new URL(after.base_url).origin !== new URL(before.base_url).origin ||
    after.provider !== before.provider ||
    unsealed(after, 'proxy', sealer) !== unsealed(before, 'proxy', sealer)
  )
}

/** True if requests would go to another server or service, whose obedience to maximums is not known yet. */
function changesServer(
  before: UpstreamsTable,
  { base_url: baseUrl, provider }: Partial<UpstreamsTable>,
): boolean {
  return (baseUrl ?? before.base_url) !== before.base_url || (provider ?? before.provider) !== before.provider
}

/** Throws 400 naming the field, or 409 if the name is taken. */
export async function createUpstream(
  db: Db,
  input: UpstreamInput,
  context: UpstreamContext,
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
    headers: null,
    body: null,
    priority: 0,
    weight: 1,
    prices: null,
    on_abort: 'cancel',
    enabled: 1,
    health_check_ms: null,
    created_at: now,
    updated_at: now,
    ...initialOptions(input),
    ...toColumns(input, id, context),
  }
  await context.authorizeNewDestination?.()
  try {
    await db.write(
      expectChanges(sql.insertInto('upstreams').values(row), 1),
      auditStatement(context.by, 'upstream.create', id, auditFields(toAuditDetail(row, context.sealer))),
    )
  } catch (error) {
    throw toApiError(error)
  }
  return { value: upstreamOf(row, context.sealer), changes: [{ kind: 'upstream', id }] }
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

/**
 * A new origin, provider or proxy deletes the stored credentials, the additional ones included, and the headers, and
 * keeps only those of the same patch. Another address or provider forgets whether the upstream obeys maximums. Throws
 * 404 for an unknown id, 400 naming the field, 409 if the name is taken. A patch that changes nothing writes nothing.
 */
export async function updateUpstream(
  db: Db,
  id: string,
  patch: UpstreamPatch,
  context: UpstreamContext,
): Promise<Changed<Upstream>> {
  const before = await db.first(sql.selectFrom('upstreams').selectAll().where('id', '=', id))
  if (before === undefined) throw notFound('Upstream')
  const set = toColumns(patch, id, context)
  const deletesCredentials = changesDestination(before, set, context)
  if (deletesCredentials) {
    await context.authorizeNewDestination?.()
    set.credential ??= context.sealer.seal('', id)
    set.headers ??= null
  }
  const merged = {
    timeouts: patchJson(before.timeouts, timeoutsJson(patch.timeouts ?? {})),
    settings: patchJson(before.settings, settingsJson(patch.settings ?? {})),
  }
  const changes = toAuditChanges(before, { ...before, ...set, ...merged }, context.sealer)
  if (changes === null) return { value: upstreamOf(before, context.sealer), changes: [] }
  let update = sql
    .updateTable('upstreams')
    .set({ ...set, updated_at: Date.now() })
    .where('id', '=', id)
  // The comparison, and a new credential, hold only for the destination that was read.
  if (destinationFields.some((field) => set[field] !== undefined))
    update = update
      .where('base_url', '=', before.base_url)
      .where('provider', '=', before.provider)
      .where('proxy', 'is not distinct from', before.proxy)
  if (patch.timeouts !== undefined) update = update.set(mergeTimeouts(patch.timeouts))
  if (patch.settings !== undefined) update = update.set(mergeSettings(patch.settings))
  const additional = sql.deleteFrom('upstream_credentials').where('upstream_id', '=', id)
  const forgetsMaximums = changesServer(before, set)
  const detail = { ...changes, ...(deletesCredentials ? { credentials: 'deleted' } : {}) }
  try {
    await db.write(
      expectChanges(update, 1),
      ...(deletesCredentials ? [additional] : []),
      ...(forgetsMaximums ? forgetRouteMaximums(id) : []),
      auditStatement(context.by, 'upstream.update', id, detail),
    )
  } catch (error) {
    throw isExpectationFailureOf(error, 0) ? await lostUpdate(db, id) : toApiError(error)
  }
  const upstream = await upstreamById(db, id, context.sealer)
  if (upstream === undefined) throw notFound('Upstream')
  const models = forgetsMaximums ? await routedModels(db, { upstream_id: id }) : []
  return { value: upstream, changes: [{ kind: 'upstream', id }, ...models] }
}

async function lostUpdate(db: Db, id: string): Promise<ApiError> {
  if ((await upstreamRow(db, id)) === undefined) return notFound('Upstream')
  return apiError('conflict', { message: 'The upstream was changed at the same time. Try again.' })
}

/** Throws 404 for an unknown id, 409 while models have routes to it. */
export async function deleteUpstream(db: Db, id: string, by: string): Promise<Changed<undefined>> {
  const routed = sql.selectFrom('routes').select('model_id').where('upstream_id', '=', id)
  const models = await db.all(routed.orderBy('model_id').limit(5))
  if (models.length > 0) throw upstreamInUse(models.map((route) => route.model_id))
  try {
    await db.write(
      expectChanges(sql.deleteFrom('upstreams').where('id', '=', id), 1),
      ...forgetRouteMaximums(id),
      auditStatement(by, 'upstream.delete', id),
    )
  } catch (error) {
    throw isForeignKeyViolation(error) ? upstreamInUse([]) : toApiError(error)
  }
  return { value: undefined, changes: [{ kind: 'upstream', id }] }
}

function upstreamInUse(models: readonly string[]): ApiError {
  const names = models.length === 0 ? '' : `: ${models.join(', ')}`
  return apiError('conflict', { message: `Models still have routes to this upstream${names}.` })
}
