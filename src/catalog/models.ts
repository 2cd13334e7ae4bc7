/**
 * Models: what callers name, with the routes to the upstreams that serve them and a price. A model cannot be made
 * without a price; free has to be said. A deleted model keeps its row and its prices, because bills name them.
 */

import { sql as fragment } from 'kysely'
import { refuse, type Refusal } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import type { Change, Changed } from '../db/change.ts'
import { expecting, type Db, type Query } from '../db/db.ts'
import { sql, type ModelsTable } from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'
import { loadCatalogDelta, type ModelDelta } from './catalog.ts'
import {
  currentPrice,
  priceFromRow,
  priceMissing,
  priceOf,
  priceRow,
  samePrice,
  type Price,
  type PriceInput,
} from './prices.ts'
import { checkFallbacks, parsedRouting, type Preference, type Routing } from './routing.ts'
import {
  limitsOfModel,
  limitsPatchJson,
  newLimits,
  type ModelLimits,
  type ModelLimitsPatch,
} from './limits.ts'
import { resolvedRoutes, routeOf, routesWritten, type Route, type RouteInput } from './routes.ts'

export interface Model {
  readonly id: string
  readonly contextTokens: number
  readonly maxOutputTokens: number | null
  /** Thinks unseen: its stream does not show the reasoning that it bills. */
  readonly hiddenReasoning: boolean
  readonly ownedBy: string
  readonly listed: boolean
  readonly price: Price
  readonly priceVersion: number
  readonly routes: readonly Route[]
  readonly routing: Routing
  /** Of each account that calls it; null: none of its own. */
  readonly limits: ModelLimits | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** Not named stays; null removes. Routes and prices are given whole. */
export interface ModelPatch {
  readonly contextTokens?: number
  readonly maxOutputTokens?: number | null
  readonly hiddenReasoning?: boolean
  readonly ownedBy?: string
  readonly listed?: boolean
  readonly prices?: PriceInput
  readonly routes?: readonly RouteInput[]
  readonly prefer?: Preference
  readonly affinity?: boolean
  readonly fallbacks?: readonly string[]
  readonly limits?: ModelLimitsPatch | null
}

export interface ModelInput extends ModelPatch {
  readonly id: string
  readonly contextTokens: number
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/
const tokensMax = 100_000_000
const ownerPattern = /^[^\p{Cc}]{1,100}$/u

function noSuchModel(): Refusal {
  return refuse('not_found', { message: 'There is no such model.' })
}

function tokens(value: number, param: string): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= tokensMax) return value
  const message = `${param} has to be a whole number from 1 to ${tokensMax}.`
  throw refuse('invalid_request', { param, message })
}

function owner(text: string): string {
  if (ownerPattern.test(text)) return text
  const message = 'owned_by has to be 1 to 100 characters.'
  throw refuse('invalid_request', { param: 'owned_by', message })
}

function changesOf(patch: ModelPatch): Partial<ModelsTable> {
  const set: Partial<ModelsTable> = {}
  if (patch.contextTokens !== undefined) set.context_tokens = tokens(patch.contextTokens, 'context_tokens')
  if (patch.maxOutputTokens === null) set.max_output_tokens = null
  else if (patch.maxOutputTokens !== undefined) {
    set.max_output_tokens = tokens(patch.maxOutputTokens, 'max_output_tokens')
  }
  if (patch.hiddenReasoning !== undefined) set.hidden_reasoning = patch.hiddenReasoning ? 1 : 0
  if (patch.ownedBy !== undefined) set.owned_by = owner(patch.ownedBy)
  if (patch.listed !== undefined) set.listed = patch.listed ? 1 : 0
  return set
}

/** What a patch says of the choice among upstreams, as JSON; what it does not name is not in it. */
function routingJson({ prefer, affinity, fallbacks }: ModelPatch): string {
  return JSON.stringify({ prefer, affinity, fallbacks })
}

/** Writes what a patch names and nothing else, so that two patches at once both hold. */
function updated(id: string, set: Partial<ModelsTable>, patch: ModelPatch): Query {
  const routing = fragment<string>`json_patch(routing, ${routingJson(patch)})`
  const update = sql
    .updateTable('models')
    .set(set)
    .set({ routing })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  if (patch.limits === undefined) return update
  if (patch.limits === null) return update.set({ limits: '{}' })
  return update.set({ limits: fragment<string>`json_patch(limits, ${limitsPatchJson(patch.limits)})` })
}

/** The living model; a row that was deleted is taken up again with its history of prices. */
function insertion(row: ModelsTable): Query {
  const { id: _id, ...rest } = row
  return sql
    .insertInto('models')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(rest).where('models.deleted_at', 'is not', null),
    )
}

/** `a/../b` is another address than it says, so that nobody could ask for it. */
function hasDotSegment(id: string): boolean {
  return id.split('/').some((segment) => segment === '.' || segment === '..' || segment === '')
}

/** Refuses with 400 naming the field (`prices` when neither prices nor free are given), or 409 when it exists. */
export async function createModel(db: Db, input: ModelInput, by: string): Promise<Changed<Model>> {
  if (!idPattern.test(input.id) || hasDotSegment(input.id)) {
    const message = 'id has to be letters, digits and . _ : / @ + -, beginning with a letter or digit.'
    throw refuse('invalid_request', { param: 'id', message })
  }
  if (input.prices === undefined) throw priceMissing()
  const price = priceOf(input.prices)
  const routes = await resolvedRoutes(db, input.routes ?? [])
  await checkFallbacks(db, input.id, input.fallbacks ?? [])
  const now = Date.now()
  const row: ModelsTable = {
    id: input.id,
    context_tokens: tokens(input.contextTokens, 'context_tokens'),
    max_output_tokens: null,
    hidden_reasoning: 0,
    owned_by: 'sluice',
    listed: 1,
    routing: routingJson(input),
    limits: newLimits(input.limits),
    created_at: now,
    updated_at: now,
    deleted_at: null,
    ...changesOf(input),
  }
  try {
    await db.write(
      expecting(insertion(row), 1),
      sql.insertInto('prices').values(priceRow(row.id, price, now)),
      ...routesWritten(row.id, routes),
      auditRow(by, 'model.create', row.id, { ...row, price, routes }),
    )
  } catch (error) {
    if (!isUnmet(error, 0)) throw error
    throw refuse('conflict', { param: 'id', message: 'A model of this id exists.' })
  }
  return changedModel(db, row.id)
}

async function changedModel(db: Db, id: string): Promise<Changed<Model>> {
  const model = await modelById(db, id)
  if (model === undefined) throw noSuchModel()
  return { value: model, changes: [{ kind: 'model', id }] }
}

/** Refuses with 404 for an unknown id and 400 naming the field. Equal prices make no new version. */
export async function updateModel(
  db: Db,
  id: string,
  patch: ModelPatch,
  by: string,
): Promise<Changed<Model>> {
  const now = Date.now()
  if ((await modelById(db, id)) === undefined) throw noSuchModel()
  await checkFallbacks(db, id, patch.fallbacks ?? [])
  const set: Partial<ModelsTable> = { ...changesOf(patch), updated_at: now }
  const { prefer, affinity, fallbacks, limits } = patch
  const price = patch.prices === undefined ? undefined : priceOf(patch.prices)
  const before = price === undefined ? undefined : await currentPrice(db, id)
  const changed = price !== undefined && (before === undefined || !samePrice(before.price, price))
  const routes = patch.routes === undefined ? undefined : await resolvedRoutes(db, patch.routes)
  try {
    await db.write(
      expecting(updated(id, set, patch), 1),
      ...(changed ? [sql.insertInto('prices').values(priceRow(id, price, now))] : []),
      ...(routes === undefined ? [] : routesWritten(id, routes)),
      auditRow(by, 'model.update', id, {
        ...set,
        prefer,
        affinity,
        fallbacks,
        limits,
        price: changed ? price : undefined,
        routes,
      }),
    )
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchModel() : error
  }
  return changedModel(db, id)
}

/** Takes a model out of the list and out of service; running requests finish. Refuses with 404 for an unknown id. */
export async function deleteModel(db: Db, id: string, by: string): Promise<Changed<undefined>> {
  const update = sql.updateTable('models').set({ deleted_at: Date.now() }).where('id', '=', id)
  try {
    await db.write(
      expecting(update.where('deleted_at', 'is', null), 1),
      sql.deleteFrom('routes').where('model_id', '=', id),
      auditRow(by, 'model.delete', id),
    )
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchModel() : error
  }
  return { value: undefined, changes: [{ kind: 'model', id }] }
}

/** Deleted models are not found. */
export async function modelById(db: Db, id: string): Promise<Model | undefined> {
  const { models } = await loadCatalogDelta(db, [{ kind: 'model', id }])
  return models.flatMap(modelOf)[0]
}

/** All living models by id. They are a few hundred at most: no pages. */
export async function listModels(db: Db): Promise<Model[]> {
  const living = sql.selectFrom('models').select('id').where('deleted_at', 'is', null).orderBy('id')
  const ids = await db.all(living)
  const { models } = await loadCatalogDelta(
    db,
    ids.map(({ id }): Change => ({ kind: 'model', id })),
  )
  return models.flatMap(modelOf).toSorted((left, right) => (left.id < right.id ? -1 : 1))
}

function modelOf({ model: row, price, routes }: ModelDelta): Model[] {
  if (row.deleted_at !== null || price === undefined) return []
  return [
    {
      id: row.id,
      contextTokens: row.context_tokens,
      maxOutputTokens: row.max_output_tokens,
      hiddenReasoning: row.hidden_reasoning === 1,
      ownedBy: row.owned_by,
      listed: row.listed === 1,
      price: priceFromRow(price),
      priceVersion: price.version,
      routes: routes.map(routeOf),
      routing: parsedRouting(row.routing),
      limits: limitsOfModel(row.limits),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    },
  ]
}
