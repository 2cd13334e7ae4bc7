/**
 * Models: what callers request, with a price and routes to the upstreams that serve them. A model cannot be
 * created without a price; a free model must be marked as free. A deleted model keeps its row and its prices,
 * because bills refer to them.
 */

import { sql as fragment } from 'kysely'
import { apiError, notFound, invalidField } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges, auditFields, patchJson } from '../db/audit-changes.ts'
import type { Change, Changed } from '../db/change.ts'
import { writeIfFound, type Db, type Query } from '../db/db.ts'
import { sql, type ModelsTable } from '../db/schema/schema.ts'
import type { ModelDelta } from './catalog.ts'
import { loadCatalogDelta } from './load-catalog.ts'
import { pricesRequired, toDecimalPrices, toPrice, type PriceInput } from './price-input.ts'
import { priceAt, priceFromRow, priceRow, isSamePrice, type Price } from './prices.ts'
import { defaultOperations, type ModelOperation } from './operations.ts'
import { checkFallbacks, parseRouting, type Preference, type Routing } from './routing.ts'
import {
  limitsPatchJson,
  initialLimitsJson,
  modelFields,
  type ModelFields,
  type ModelLimitsPatch,
} from './model-fields.ts'
import { maximumOfRoute, shownMaximum, type MaximumState } from './route-maximums.ts'
import { resolveRoutes, routeOf, replaceRoutes, type Route, type RouteInput } from './routes.ts'
import { initialTimeoutsJson, mergeTimeouts, timeoutsJson, type TimeoutsPatch } from './timeouts.ts'

export interface Model extends ModelFields {
  readonly price: Price
  readonly priceVersion: number
  readonly routes: readonly (Route & { readonly maximum: MaximumState })[]
  readonly routing: Routing
  readonly updatedAt: number
}

/** Omitted fields stay unchanged, and null removes a value. Routes and prices are replaced as a whole. */
export interface ModelPatch extends Partial<Omit<ModelFields, 'id' | 'createdAt' | 'limits' | 'timeouts'>> {
  readonly prices?: PriceInput
  readonly routes?: readonly RouteInput[]
  readonly prefer?: Preference
  readonly affinity?: boolean
  readonly fallbacks?: readonly string[]
  readonly limits?: ModelLimitsPatch | null
  readonly timeouts?: TimeoutsPatch
}

export type ModelInput = ModelPatch & Pick<ModelFields, 'id' | 'contextTokens'>

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/
const maxTokens = 100_000_000
const ownerPattern = /^[^\p{Cc}]{1,100}$/u

function checkTokens(value: number, param: string): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= maxTokens) return value
  throw invalidField(param, `must be an integer from 1 to ${maxTokens}`)
}

function checkOwner(text: string): string {
  if (ownerPattern.test(text)) return text
  throw invalidField('owned_by', 'must have 1 to 100 characters')
}

function operationsJson(operations: readonly ModelOperation[]): string {
  if (operations.length > 0) return JSON.stringify([...new Set(operations)])
  throw invalidField('operations', 'must name at least one operation')
}

function toColumns(patch: ModelPatch): Partial<ModelsTable> {
  const set: Partial<ModelsTable> = {}
  if (patch.contextTokens !== undefined)
    set.context_tokens = checkTokens(patch.contextTokens, 'context_tokens')
  if (patch.maxOutputTokens === null) set.max_output_tokens = null
  else if (patch.maxOutputTokens !== undefined) {
    set.max_output_tokens = checkTokens(patch.maxOutputTokens, 'max_output_tokens')
  }
  if (patch.hiddenReasoning !== undefined) set.hidden_reasoning = patch.hiddenReasoning ? 1 : 0
  if (patch.ownedBy !== undefined) set.owned_by = checkOwner(patch.ownedBy)
  if (patch.listed !== undefined) set.listed = patch.listed ? 1 : 0
  if (patch.operations !== undefined) set.operations = operationsJson(patch.operations)
  return set
}

/** The routing fields of a patch as JSON; omitted ones are absent. */
function routingJson({ prefer, affinity, fallbacks }: ModelPatch): string {
  return JSON.stringify({ prefer, affinity, fallbacks })
}

/** Writes only the fields of the patch, so that concurrent patches both take effect. */
function updateStatement(id: string, set: Partial<ModelsTable>, patch: ModelPatch): Query {
  const routing = fragment<string>`json_patch(routing, ${routingJson(patch)})`
  const update = sql
    .updateTable('models')
    .set(set)
    .set({ routing, ...(patch.timeouts === undefined ? {} : mergeTimeouts(patch.timeouts)) })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  if (patch.limits === undefined) return update
  if (patch.limits === null) return update.set({ limits: '{}' })
  return update.set({ limits: fragment<string>`json_patch(limits, ${limitsPatchJson(patch.limits)})` })
}

/** The columns that `updateStatement` merges, as they are afterwards. */
function patchedJson(
  { routing, limits, timeouts }: ModelsTable,
  patch: ModelPatch,
): Pick<ModelsTable, 'routing' | 'limits' | 'timeouts'> {
  const patched = {
    routing: patchJson(routing, routingJson(patch)),
    limits,
    timeouts: patch.timeouts === undefined ? timeouts : patchJson(timeouts, timeoutsJson(patch.timeouts)),
  }
  if (patch.limits === undefined) return patched
  if (patch.limits === null) return { ...patched, limits: '{}' }
  return { ...patched, limits: patchJson(limits, limitsPatchJson(patch.limits)) }
}

/** Inserts a model. A deleted row with the same id is reused, with its price history. */
function insertStatement(row: ModelsTable): Query {
  const { id: _id, ...rest } = row
  return sql
    .insertInto('models')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(rest).where('models.deleted_at', 'is not', null),
    )
}

/** URLs normalise `a/../b`, so that nobody could request such a model. */
function hasDotSegment(id: string): boolean {
  return id.split('/').some((segment) => segment === '.' || segment === '..' || segment === '')
}

/** Throws 400 naming the field (`prices` if neither prices nor `free` are given), or 409 if the id exists. */
export async function createModel(db: Db, input: ModelInput, by: string): Promise<Changed<Model>> {
  if (!idPattern.test(input.id) || hasDotSegment(input.id)) {
    const rule = 'must consist of letters, digits and . _ : / @ + -, and begin with a letter or digit'
    throw invalidField('id', rule)
  }
  if (input.prices === undefined) throw pricesRequired()
  if ((input.prices.effectiveFrom ?? 0) > Date.now())
    throw invalidField('prices.effective_from', 'must not be in the future for the first price of a model')
  const price = toPrice(input.prices)
  const routes = await resolveRoutes(db, input.routes ?? [])
  await checkFallbacks(db, input.id, input.fallbacks ?? [])
  const now = Date.now()
  const row: ModelsTable = {
    id: input.id,
    context_tokens: checkTokens(input.contextTokens, 'context_tokens'),
    max_output_tokens: null,
    hidden_reasoning: 0,
    owned_by: 'sluice',
    listed: 1,
    routing: routingJson(input),
    limits: initialLimitsJson(input.limits),
    timeouts: initialTimeoutsJson(input.timeouts),
    operations: JSON.stringify(defaultOperations),
    created_at: now,
    updated_at: now,
    deleted_at: null,
    ...toColumns(input),
  }
  const isNew = await writeIfFound(
    db,
    insertStatement(row),
    sql.insertInto('prices').values(priceRow(row.id, price, now)),
    ...replaceRoutes(row.id, routes),
    auditStatement(by, 'model.create', row.id, auditFields(apiModel(modelFrom(row, price, routes)))),
  )
  if (!isNew) throw apiError('conflict', { param: 'id', message: 'A model with this id already exists.' })
  return loadChangedModel(db, row.id)
}

async function loadChangedModel(db: Db, id: string): Promise<Changed<Model>> {
  const model = await modelById(db, id)
  if (model === undefined) throw notFound('Model')
  return { value: model, changes: [{ kind: 'model', id }] }
}

/** Without the version of its price, and what was seen of its routes. */
type PlainModel = Omit<Model, 'priceVersion' | 'routes'> & { readonly routes: readonly Route[] }

/** A model as operators set it; its routes in an order of their own. */
function apiModel({ price, routing, routes, ...model }: PlainModel): object {
  const apiRoutes = routes
    .map(({ upstreamId: upstream, upstreamModel: name, ...route }) => ({ upstream, model: name, ...route }))
    .toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))
  return { ...model, ...routing, prices: toDecimalPrices(price), routes: apiRoutes }
}

/** The price of the newest version, which may apply only later. */
function newestPrice({ prices: [newest] }: ModelDelta, { price }: Model): Price {
  return newest === undefined ? price : priceFromRow(newest)
}

/** A time that is still to come; `null`: it applies at once. */
function scheduledTime(at: number | null | undefined, now: number): number | null {
  return at !== null && at !== undefined && at > now ? at : null
}

/**
 * Throws 404 for an unknown id, 400 naming the field. Equal prices create no new version; a patch that changes nothing
 * writes nothing.
 */
export async function updateModel(
  db: Db,
  id: string,
  patch: ModelPatch,
  by: string,
): Promise<Changed<Model>> {
  const now = Date.now()
  const [delta] = (await loadCatalogDelta(db, [{ kind: 'model', id }])).models
  const [before] = delta === undefined ? [] : modelOf(delta)
  if (delta === undefined || before === undefined) throw notFound('Model')
  await checkFallbacks(db, id, patch.fallbacks ?? [])
  const set = toColumns(patch)
  const price = patch.prices === undefined ? newestPrice(delta, before) : toPrice(patch.prices)
  const scheduledAt = scheduledTime(delta.prices[0]?.effective_from, now)
  const effectiveFrom = patch.prices ? scheduledTime(patch.prices.effectiveFrom, now) : scheduledAt
  const isPriceChanged = effectiveFrom !== scheduledAt || !isSamePrice(newestPrice(delta, before), price)
  const routes = patch.routes === undefined ? undefined : await resolveRoutes(db, patch.routes)
  const plainRoutes = delta.routes.map(routeOf)
  const row = { ...delta.model, ...set, ...patchedJson(delta.model, patch) }
  const changes = auditChanges(
    {
      ...apiModel(modelFrom(delta.model, newestPrice(delta, before), plainRoutes)),
      pricesFromAt: scheduledAt,
    },
    { ...apiModel(modelFrom(row, price, routes ?? plainRoutes)), pricesFromAt: effectiveFrom },
  )
  if (changes === null) return { value: before, changes: [] }
  const isUpdated = await writeIfFound(
    db,
    updateStatement(id, { ...set, updated_at: now }, patch),
    ...(isPriceChanged ? [sql.insertInto('prices').values(priceRow(id, price, now, effectiveFrom))] : []),
    ...(routes === undefined ? [] : replaceRoutes(id, routes)),
    auditStatement(by, 'model.update', id, changes),
  )
  if (!isUpdated) throw notFound('Model')
  return loadChangedModel(db, id)
}

/** Unlists a model and takes it out of service; running requests finish. Throws 404 for an unknown id. */
export async function deleteModel(db: Db, id: string, by: string): Promise<Changed<undefined>> {
  const update = sql.updateTable('models').set({ deleted_at: Date.now() }).where('id', '=', id)
  const isDeleted = await writeIfFound(
    db,
    update.where('deleted_at', 'is', null),
    sql.deleteFrom('routes').where('model_id', '=', id),
    auditStatement(by, 'model.delete', id),
  )
  if (!isDeleted) throw notFound('Model')
  return { value: undefined, changes: [{ kind: 'model', id }] }
}

/** Deleted models are not found. */
export async function modelById(db: Db, id: string): Promise<Model | undefined> {
  const { models } = await loadCatalogDelta(db, [{ kind: 'model', id }])
  return models.flatMap(modelOf)[0]
}

/** All models that are not deleted, by id. There are a few hundred at most, so no pagination. */
export async function listModels(db: Db): Promise<Model[]> {
  const living = sql.selectFrom('models').select('id').where('deleted_at', 'is', null).orderBy('id')
  const ids = await db.all(living)
  const { models } = await loadCatalogDelta(
    db,
    ids.map(({ id }): Change => ({ kind: 'model', id })),
  )
  return models.flatMap(modelOf).toSorted((left, right) => (left.id < right.id ? -1 : 1))
}

function modelOf({ model: row, prices, routes: rows, maximums }: ModelDelta): Model[] {
  const price = priceAt(prices, Date.now())
  if (row.deleted_at !== null || price === undefined) return []
  const routes = rows.map((route) => ({
    ...routeOf(route),
    maximum: shownMaximum(maximumOfRoute(route, maximums, null)),
  }))
  return [{ ...modelFrom(row, priceFromRow(price), []), routes, priceVersion: price.version }]
}

function modelFrom(row: ModelsTable, price: Price, routes: readonly Route[]): PlainModel {
  const routing = parseRouting(row.routing)
  return { ...modelFields(row), price, routes, routing, updatedAt: row.updated_at }
}
