/**
 * The catalog in memory: models with price and routes, and upstreams with decrypted credentials. Every worker
 * has a copy, loaded once and then updated by deltas. A model without a price is neither listed nor served.
 */

import type { Sealer } from '../lib/encryption.ts'
import type { ModelsTable, PriceRow, RoutesTable } from '../db/schema/schema.ts'
import {
  toLiveUpstream,
  type LiveUpstream,
  type UpstreamDelta,
  type VersionedPrice,
} from './live-upstream.ts'
import { parseCosts, priceFromCosts, type UpstreamCosts } from './costs.ts'
import { priceAt, priceFromRow } from './prices.ts'
import { modelFields, type ModelFields } from './model-fields.ts'
import { parseRouting, type Routing } from './routing.ts'
import {
  isSameRoute,
  maximumOfRoute,
  maximumUnder,
  withObserved,
  type MaximumState,
  type ObservedMaximum,
  type RouteMaximum,
  type SeenMaximum,
} from './route-maximums.ts'
import { maximumFieldOf } from '../providers/openai/maximum-field.ts'
import { shorterTimeouts } from './timeouts.ts'
import { providerForModel } from '../providers/registry.ts'

export type { LiveCredential, LiveUpstream, VersionedPrice } from './live-upstream.ts'

export interface LiveRoute {
  readonly upstream: LiveUpstream
  readonly upstreamModel: string
  /** The name for the model in responses; null: the upstream's. */
  readonly returnedModel: string | null
  readonly priority: number
  readonly weight: number
  /** What the model costs us there, in the platform's currency. null: unknown. */
  readonly cost: VersionedPrice | null
  readonly maximum: RouteMaximum
  /** The upstream's own name of the maximum of output tokens; `null`: it has only one. */
  readonly maximumField: string | null
  /** Of the upstream and the model, each time the shorter one. */
  readonly timeouts: LiveUpstream['timeouts']
}

/** An upstream with prices that serves several models, and its models whose routes have no cost. */
export interface UnknownCosts {
  readonly upstream: LiveUpstream
  readonly models: readonly string[]
}

export interface PricedModel extends ModelFields, Routing {
  readonly price: VersionedPrice
  /** Only to enabled upstreams. Lower priority first, then greater weight. */
  readonly routes: readonly LiveRoute[]
  /** Of its routes, for a maximum under the upstreams' own names. */
  readonly maximum: MaximumState
}

/**
 * Rows to insert or replace, as plain objects so that they can be sent to another thread. Credentials are
 * still encrypted.
 */
export interface CatalogDelta {
  readonly upstreams: readonly UpstreamDelta[]
  /** Upstreams that no longer exist. */
  readonly removedUpstreams: readonly string[]
  readonly models: readonly ModelDelta[]
}

export interface ModelDelta {
  readonly model: ModelsTable
  /** The one that applies and those that will, the newest version first. Empty: the model has no price. */
  readonly prices: readonly PriceRow[]
  readonly routes: readonly RoutesTable[]
  /** Of its routes. */
  readonly maximums: readonly SeenMaximum[]
}

function compareRoutes(left: LiveRoute, right: LiveRoute): number {
  if (left.priority !== right.priority) return left.priority - right.priority
  if (left.weight !== right.weight) return right.weight - left.weight
  return left.upstream.id < right.upstream.id ? -1 : 1
}

/** What is known of a route for a maximum that is sent under this name; `null`: under the upstream's own. */
export function routeMaximum({ maximum, maximumField }: LiveRoute, field: string | null): MaximumState {
  return maximumUnder(maximum, field, maximumField)
}

/** `exceeded` if any route is, else `unseen` if any route is. */
export function maximumOfRoutes(routes: readonly LiveRoute[], field: string | null): MaximumState {
  const states = routes.map((route) => routeMaximum(route, field))
  if (states.includes('exceeded')) return 'exceeded'
  return states.every((state) => state === 'obeyed') ? 'obeyed' : 'unseen'
}

export class Catalog {
  readonly #sealer: Sealer
  #upstreams = new Map<string, LiveUpstream>()
  #rows = new Map<string, ModelDelta>()
  #models = new Map<string, PricedModel>()
  #listed: readonly PricedModel[] | undefined
  /** The routes of all models, by upstream. */
  #routes: ReadonlyMap<string, readonly RoutesTable[]> | undefined
  /** When the next price applies, milliseconds since the epoch. */
  #nextPriceAt = Infinity

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  /** The model as currently served. undefined if it does not exist or has no price. */
  model(id: string): PricedModel | undefined {
    this.#applyDuePrices()
    const cached = this.#models.get(id)
    if (cached !== undefined) return cached
    const model = this.#modelOf(id)
    if (model !== undefined) this.#models.set(id, model)
    return model
  }

  /** Priced and listed models, by id. */
  listed(): readonly PricedModel[] {
    this.#applyDuePrices()
    this.#listed ??= [...this.#rows.keys()]
      .toSorted()
      .map((id) => this.model(id))
      .filter((model) => model !== undefined)
      .filter((model) => model.listed)
    return this.#listed
  }

  /** All priced models, listed or not. */
  models(): PricedModel[] {
    return Array.from(this.#rows.keys(), (id) => this.model(id)).filter((model) => model !== undefined)
  }

  /** Names of disabled upstreams that a model has routes to. */
  disabledRoutes(id: string): string[] {
    const upstreams = this.#rows.get(id)?.routes.map((route) => this.#upstreams.get(route.upstream_id)) ?? []
    return upstreams.flatMap((upstream) => (upstream && !upstream.enabled ? [upstream.name] : []))
  }

  upstream(id: string): LiveUpstream | undefined {
    return this.#upstreams.get(id)
  }

  upstreams(): LiveUpstream[] {
    return [...this.#upstreams.values()]
  }

  /**
   * What a route costs us: its own cost, otherwise the prices of the upstream if it serves one model. One price says
   * nothing about several models. null: unknown.
   */
  costOf(upstreamId: string, cost: UpstreamCosts | null): VersionedPrice | null {
    if (cost !== null) return { ...priceFromCosts(cost, 'cost'), version: 0 }
    return this.#servesOneModel(upstreamId) ? (this.#upstreams.get(upstreamId)?.price ?? null) : null
  }

  /** By the name of the upstream. */
  unknownCosts(): UnknownCosts[] {
    return this.upstreams()
      .filter(({ id, price }) => price !== null && !this.#servesOneModel(id))
      .map((upstream) => {
        const routes = this.#routesByUpstream().get(upstream.id) ?? []
        const models = routes.filter(({ prices }) => prices === null).map((route) => route.model_id)
        return { upstream, models: [...new Set(models)].toSorted() }
      })
      .filter(({ models }) => models.length > 0)
      .toSorted((left, right) => (left.upstream.name < right.upstream.name ? -1 : 1))
  }

  #routesByUpstream(): ReadonlyMap<string, readonly RoutesTable[]> {
    this.#routes ??= Map.groupBy(
      [...this.#rows.values()].flatMap(({ routes }) => routes),
      (route) => route.upstream_id,
    )
    return this.#routes
  }

  #servesOneModel(upstreamId: string): boolean {
    const routes = this.#routesByUpstream().get(upstreamId) ?? []
    return routes.every((route) => route.upstream_model === routes[0]?.upstream_model)
  }

  /** Takes over the contents of another catalog, which must not be used afterwards. */
  replaceWith(other: Catalog): void {
    this.#upstreams = other.#upstreams
    this.#rows = other.#rows
    this.#models = other.#models
    this.#listed = undefined
    this.#routes = undefined
    this.#nextPriceAt = other.#nextPriceAt
  }

  apply(delta: CatalogDelta): void {
    for (const one of delta.upstreams) {
      this.#upstreams.set(one.upstream.id, toLiveUpstream(one, this.#sealer))
    }
    for (const id of delta.removedUpstreams) this.#upstreams.delete(id)
    if (delta.upstreams.length > 0 || delta.removedUpstreams.length > 0) this.#models.clear()
    this.#applyModels(delta.models)
    this.#listed = undefined
  }

  /** Applies what was just seen of a route, before it is stored and published. */
  applyRouteMaximum(observed: ObservedMaximum): void {
    for (const row of this.#rows.values()) {
      if (!row.routes.some((route) => isSameRoute(route, observed))) continue
      this.#applyModels([{ ...row, maximums: withObserved(row.maximums, observed) }])
    }
    this.#listed = undefined
  }

  #applyModels(models: readonly ModelDelta[]): void {
    const routes = models.flatMap((one) => [...one.routes, ...(this.#rows.get(one.model.id)?.routes ?? [])])
    const upstreams = [...new Set(routes.map((route) => route.upstream_id))]
    const servedOneModel = upstreams.map((id) => this.#servesOneModel(id))
    for (const one of models) {
      this.#models.delete(one.model.id)
      if (one.model.deleted_at === null) this.#rows.set(one.model.id, one)
      else this.#rows.delete(one.model.id)
    }
    this.#routes = undefined
    this.#findNextPrice()
    // The costs of other models' routes may have changed.
    const changed = upstreams.filter((id, index) => this.#servesOneModel(id) !== servedOneModel[index])
    for (const id of changed) {
      for (const route of this.#routesByUpstream().get(id) ?? []) this.#models.delete(route.model_id)
    }
  }

  #findNextPrice(): void {
    const now = Date.now()
    const times = [...this.#rows.values()].flatMap(({ prices }) =>
      prices.map((price) => price.effective_from ?? 0),
    )
    this.#nextPriceAt = Math.min(Infinity, ...times.filter((at) => at > now))
  }

  #applyDuePrices(): void {
    if (this.#nextPriceAt === Infinity || this.#nextPriceAt > Date.now()) return
    this.#models.clear()
    this.#listed = undefined
    this.#findNextPrice()
  }

  #modelOf(id: string): PricedModel | undefined {
    const row = this.#rows.get(id)
    const price = row && priceAt(row.prices, Date.now())
    if (row === undefined || price === undefined) return undefined
    const { model } = row
    const fields = modelFields(model)
    const routes = row.routes.flatMap((route) => this.#routeOf(route, row, fields)).toSorted(compareRoutes)
    return {
      ...fields,
      price: { ...priceFromRow(price), version: price.version },
      routes,
      maximum: maximumOfRoutes(routes, null),
      ...parseRouting(model.routing),
    }
  }

  #routeOf(row: RoutesTable, { maximums }: ModelDelta, model: ModelFields): LiveRoute[] {
    const upstream = this.#upstreams.get(row.upstream_id)
    if (upstream === undefined || !upstream.enabled) return []
    const { model_id: id, upstream_model: upstreamModel } = row
    const returnedModel = row.expose_model === 1 || upstreamModel === id ? null : id
    const priority = row.priority ?? upstream.priority
    const weight = row.weight ?? upstream.weight
    const cost = this.costOf(upstream.id, parseCosts(row.prices))
    const maximumField = maximumFieldOf(providerForModel(upstream.provider, upstreamModel), upstream.settings)
    const maximum = maximumOfRoute(row, maximums, maximumField)
    const timeouts = shorterTimeouts(upstream.timeouts, model.timeouts)
    const named = { upstream, upstreamModel, returnedModel }
    return [{ ...named, priority, weight, cost, maximum, maximumField, timeouts }]
  }
}
