/**
 * The catalogue in memory: models with price and routes, upstreams with their opened credentials, as every worker
 * holds it. Loaded once, then followed by deltas. A model without a price is neither listed nor served.
 */

import type { Sealer } from '../lib/seal.ts'
import type { UpstreamSettings } from '../providers/provider.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql, type ModelsTable, type PriceRow, type RoutesTable, type UpstreamsTable } from '../db/schema.ts'
import { priceFromRow, type Price } from './prices.ts'
import {
  defaultTimeouts,
  parsedCosts,
  parsedSettings,
  parsedTimeouts,
  upstreamPrice,
  type UpstreamTimeouts,
} from './upstream-fields.ts'

/** A price and its version: what a hold freezes. */
export interface VersionedPrice extends Price {
  readonly version: number
}

/** An upstream as the relay calls it. */
export interface LiveUpstream {
  readonly id: string
  readonly name: string
  readonly provider: string
  readonly baseUrl: string
  readonly credential: string
  readonly proxy: string | null
  /** Lower is tried first. */
  readonly priority: number
  readonly weight: number
  /** What it costs us, in the platform's currency; null is unknown. */
  readonly price: VersionedPrice | null
  readonly timeouts: Required<UpstreamTimeouts>
  readonly onAbort: 'cancel' | 'drain'
  readonly enabled: boolean
  readonly settings: UpstreamSettings
}

export interface LiveRoute {
  readonly upstream: LiveUpstream
  readonly upstreamModel: string
  readonly priority: number
  readonly weight: number
}

export interface PricedModel {
  readonly id: string
  readonly contextTokens: number
  readonly maxOutputTokens: number | null
  readonly hiddenReasoning: boolean
  readonly ownedBy: string
  readonly listed: boolean
  readonly createdAt: number
  readonly price: VersionedPrice
  /** To enabled upstreams only: lower priority first, then the greater weight. */
  readonly routes: readonly LiveRoute[]
}

/** Rows to put in place, plain so that they can be sent to another thread; credentials are still sealed. */
export interface CatalogDelta {
  readonly upstreams: readonly UpstreamsTable[]
  /** Upstreams that are no more. */
  readonly gone: readonly string[]
  readonly models: readonly ModelDelta[]
}

export interface ModelDelta {
  readonly model: ModelsTable
  readonly price: PriceRow | undefined
  readonly routes: readonly RoutesTable[]
}

function liveUpstream(row: UpstreamsTable, sealer: Sealer): LiveUpstream {
  const costs = parsedCosts(row.prices)
  return {
    id: row.id,
    name: row.name,
    provider: row.provider,
    baseUrl: row.base_url,
    credential: sealer.unseal(row.credential, row.id),
    proxy: row.proxy === null ? null : sealer.unseal(row.proxy, row.id),
    priority: row.priority,
    weight: row.weight,
    price: costs === null ? null : { ...upstreamPrice(costs), version: 0 },
    timeouts: { ...defaultTimeouts, ...parsedTimeouts(row.timeouts) },
    onAbort: row.on_abort,
    enabled: row.enabled === 1,
    settings: parsedSettings(row.settings),
  }
}

function inOrder(left: LiveRoute, right: LiveRoute): number {
  if (left.priority !== right.priority) return left.priority - right.priority
  if (left.weight !== right.weight) return right.weight - left.weight
  return left.upstream.id < right.upstream.id ? -1 : 1
}

export class Catalog {
  readonly #sealer: Sealer
  readonly #upstreams = new Map<string, LiveUpstream>()
  readonly #rows = new Map<string, ModelDelta>()
  readonly #models = new Map<string, PricedModel>()
  #listed: readonly PricedModel[] | undefined

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  /** The model as it is served now; undefined when it does not exist or has no price. */
  model(id: string): PricedModel | undefined {
    const known = this.#models.get(id)
    if (known !== undefined) return known
    const model = this.#modelOf(id)
    if (model !== undefined) this.#models.set(id, model)
    return model
  }

  /** Priced and listed models by id. */
  listed(): readonly PricedModel[] {
    this.#listed ??= [...this.#rows.keys()]
      .toSorted()
      .map((id) => this.model(id))
      .filter((model) => model !== undefined)
      .filter((model) => model.listed)
    return this.#listed
  }

  upstream(id: string): LiveUpstream | undefined {
    return this.#upstreams.get(id)
  }

  upstreams(): LiveUpstream[] {
    return [...this.#upstreams.values()]
  }

  apply(delta: CatalogDelta): void {
    for (const row of delta.upstreams) this.#upstreams.set(row.id, liveUpstream(row, this.#sealer))
    for (const id of delta.gone) this.#upstreams.delete(id)
    if (delta.upstreams.length > 0 || delta.gone.length > 0) this.#models.clear()
    for (const one of delta.models) {
      this.#models.delete(one.model.id)
      if (one.model.deleted_at === null) this.#rows.set(one.model.id, one)
      else this.#rows.delete(one.model.id)
    }
    this.#listed = undefined
  }

  #modelOf(id: string): PricedModel | undefined {
    const row = this.#rows.get(id)
    if (row?.price === undefined) return undefined
    const { model, price } = row
    return {
      id,
      contextTokens: model.context_tokens,
      maxOutputTokens: model.max_output_tokens,
      hiddenReasoning: model.hidden_reasoning === 1,
      ownedBy: model.owned_by,
      listed: model.listed === 1,
      createdAt: model.created_at,
      price: { ...priceFromRow(price), version: price.version },
      routes: row.routes.flatMap((route) => this.#routeOf(route)).toSorted(inOrder),
    }
  }

  #routeOf(row: RoutesTable): LiveRoute[] {
    const upstream = this.#upstreams.get(row.upstream_id)
    if (upstream === undefined || !upstream.enabled) return []
    const priority = row.priority ?? upstream.priority
    return [{ upstream, upstreamModel: row.upstream_model, priority, weight: row.weight ?? upstream.weight }]
  }
}

/** Loads everything. `sealer` opens the credentials, which stay in this thread's memory. */
export async function loadCatalog(db: Db, sealer: Sealer): Promise<Catalog> {
  const models = await db.all(sql.selectFrom('models').select('id').where('deleted_at', 'is', null))
  const upstreams = await db.all(sql.selectFrom('upstreams').select('id'))
  const catalog = new Catalog(sealer)
  catalog.apply(
    await loadCatalogDelta(db, [
      ...upstreams.map(({ id }): Change => ({ kind: 'upstream', id })),
      ...models.map(({ id }): Change => ({ kind: 'model', id })),
    ]),
  )
  return catalog
}

async function loadModels(db: Db, ids: readonly string[]): Promise<ModelDelta[]> {
  if (ids.length === 0) return []
  const newest = sql.selectFrom('prices').select((build) => build.fn.max('version').as('version'))
  const [models, prices, routes] = await Promise.all([
    db.all(sql.selectFrom('models').selectAll().where('id', 'in', ids)),
    db.all(
      sql
        .selectFrom('prices')
        .selectAll()
        .where('version', 'in', newest.where('model_id', 'in', ids).groupBy('model_id')),
    ),
    db.all(sql.selectFrom('routes').selectAll().where('model_id', 'in', ids)),
  ])
  const priceOfModel = new Map(prices.map((price) => [price.model_id, price]))
  const routesOfModel = Map.groupBy(routes, (route) => route.model_id)
  return models.map((model) => ({
    model,
    price: priceOfModel.get(model.id),
    routes: routesOfModel.get(model.id) ?? [],
  }))
}

/** Reads the rows that changes name; changes of other rooms are passed over. */
export async function loadCatalogDelta(db: Db, changes: readonly Change[]): Promise<CatalogDelta> {
  const named = (kind: Change['kind']): string[] =>
    changes.filter((change) => change.kind === kind).map((change) => change.id)
  const ids = named('upstream')
  const upstreams =
    ids.length === 0 ? [] : await db.all(sql.selectFrom('upstreams').selectAll().where('id', 'in', ids))
  const found = new Set(upstreams.map((row) => row.id))
  return { upstreams, gone: ids.filter((id) => !found.has(id)), models: await loadModels(db, named('model')) }
}
