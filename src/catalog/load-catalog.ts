/** Reads the catalog, or the changed rows of it, from the database. */
import type { Sealer } from '../lib/encryption.ts'
import { changedIds, type Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { Catalog, type CatalogDelta, type ModelDelta } from './catalog.ts'
import { isSameRoute, loadMaximums } from './route-maximums.ts'
import type { UpstreamDelta } from './live-upstream.ts'

/** Loads everything. `sealer` decrypts the credentials, which stay in this thread's memory. */
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
  const now = Date.now()
  const [models, prices, routes] = await Promise.all([
    db.all(sql.selectFrom('models').selectAll().where('id', 'in', ids)),
    db.all(
      sql
        .selectFrom('prices')
        .selectAll()
        .where('model_id', 'in', ids)
        .where('version', '>=', (build) =>
          build
            .selectFrom('prices as applied')
            .select((each) => each.fn.max('applied.version').as('version'))
            .whereRef('applied.model_id', '=', 'prices.model_id')
            .where((each) =>
              each.or([
                each('applied.effective_from', 'is', null),
                each('applied.effective_from', '<=', now),
              ]),
            ),
        )
        .orderBy('version', 'desc'),
    ),
    db.all(sql.selectFrom('routes').selectAll().where('model_id', 'in', ids)),
  ])
  const maximums = await loadMaximums(db, [...new Set(routes.map((route) => route.upstream_id))])
  const pricesByModel = Map.groupBy(prices, (price) => price.model_id)
  const routesByModel = Map.groupBy(routes, (route) => route.model_id)
  return models.map((model) => ({
    model,
    prices: pricesByModel.get(model.id) ?? [],
    routes: routesByModel.get(model.id) ?? [],
    maximums: maximums.filter((seen) =>
      routesByModel.get(model.id)?.some((route) => isSameRoute(route, seen)),
    ),
  }))
}

async function loadUpstreams(db: Db, ids: readonly string[]): Promise<UpstreamDelta[]> {
  if (ids.length === 0) return []
  const query = sql.selectFrom('upstream_credentials').selectAll().where('upstream_id', 'in', ids)
  const [upstreams, credentials] = await Promise.all([
    db.all(sql.selectFrom('upstreams').selectAll().where('id', 'in', ids)),
    db.all(query.orderBy('id')),
  ])
  const credentialsByUpstream = Map.groupBy(credentials, (row) => row.upstream_id)
  return upstreams.map((upstream) => ({
    upstream,
    credentials: credentialsByUpstream.get(upstream.id) ?? [],
  }))
}

/** Loads the rows named by the changes. Ignores changes of other kinds. */
export async function loadCatalogDelta(db: Db, changes: readonly Change[]): Promise<CatalogDelta> {
  const ids = changedIds(changes, 'upstream')
  const upstreams = await loadUpstreams(db, ids)
  const found = new Set(upstreams.map(({ upstream }) => upstream.id))
  return {
    upstreams,
    removedUpstreams: ids.filter((id) => !found.has(id)),
    models: await loadModels(db, changedIds(changes, 'model')),
  }
}
