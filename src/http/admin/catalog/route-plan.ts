/** `/models/{id}/route`: which upstreams a request for a model would try, in which order, and why. Calls nothing. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import { allowsModel } from '../../../accounts/allowlists.ts'
import type { Caller } from '../../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../../catalog/catalog.ts'
import { preferences } from '../../../catalog/routing.ts'
import { apiError } from '../../../errors.ts'
import { exclusionReason } from '../../../relay/routing/fallbacks.ts'
import { planRoutes, type PlannedRoute } from '../../../relay/routing/route-plan.ts'
import {
  serializeHealth,
  readCallHealth,
  circuitStateSchema,
  type upstreamHealthSchema,
} from '../monitoring/upstream-health.ts'

const stepSchema = z.object({
  order: z
    .int()
    .nullable()
    .meta({ description: 'null: not tried, because a request makes at most three attempts.' }),
  upstream: z.string(),
  name: z.string(),
  model: z
    .string()
    .meta({ description: 'The model that would be used: the requested one or one of its `fallbacks`.' }),
  upstream_model: z.string(),
  priority: z.int(),
  weight: z.int(),
  share: z.number().nullable().meta({ description: 'Its share of the requests that reach its priority.' }),
  state: circuitStateSchema,
  why: z.string(),
})
export const planSchema = z
  .object({
    model: z.string(),
    prefer: z.enum(preferences),
    affinity: z.boolean(),
    callable: z.boolean(),
    why: z.string().meta({ description: 'Why the model cannot be called; empty if it can.' }),
    steps: z.array(stepSchema),
    left_out: z.array(z.object({ upstream: z.string().nullable(), model: z.string(), why: z.string() })),
  })
  .openapi('RoutePlan')

function serializeStep(
  { route, model, ...step }: PlannedRoute,
  { state }: z.infer<typeof upstreamHealthSchema>,
): z.infer<typeof stepSchema> {
  const { upstream, upstreamModel, priority, weight } = route
  const { id, name } = upstream
  return {
    ...step,
    upstream: id,
    name,
    model: model.id,
    upstream_model: upstreamModel,
    priority,
    weight,
    state,
  }
}

/** Splits the fallbacks of a model into those that may be used and those that may not, with the reason. */
function splitFallbacks(catalog: Catalog, model: PricedModel, caller: Caller | null) {
  const others = model.fallbacks.map((id) => {
    const other = catalog.model(id)
    return { id, model: other, why: exclusionReason(other, model, caller) }
  })
  return {
    usable: others.flatMap((other) => (other.model && other.why === null ? [other.model] : [])),
    leftOut: others.flatMap(({ id, why }) => (why === null ? [] : [{ upstream: null, model: id, why }])),
  }
}

function findCaller({ directory }: AppContext, key: string | undefined): Caller | null {
  if (key === undefined) return null
  const caller = directory.callerByKeyId(key)
  if (!caller) throw apiError('not_found', { param: 'key', message: 'Key not found.' })
  return caller
}

function explainNotCallable(model: PricedModel, caller: Caller | null): string {
  if (caller && !allowsModel(caller.models, model.id)) return 'The key is not allowed to use this model.'
  return model.routes.length === 0 ? 'No enabled upstream serves this model.' : ''
}

export const routePlanEndpoints = [
  admin.get('/models/{id}/route', {
    summary: 'Show which upstreams a request for a model would try, in which order, and why; calls nothing',
    query: { key: z.string().optional().meta({ description: 'The id of the calling key.' }) },
    response: planSchema,
    returns: 'The plan.',
    async handle({ ctx, params: { id }, query }) {
      const { catalog } = ctx
      const model = catalog.model(id)
      if (!model) throw apiError('not_found', { message: 'Model not found.' })
      const caller = findCaller(ctx, query.key)
      const others = splitFallbacks(catalog, model, caller)
      const models = [model, ...others.usable]
      const healthByCall = await readCallHealth(ctx, models)
      const why = explainNotCallable(model, caller)
      const disabled = catalog.disabledRoutes(id)
      return {
        model: id,
        prefer: model.prefer,
        affinity: model.affinity,
        callable: why === '',
        why,
        steps: planRoutes(models, healthByCall, Date.now()).map((step) =>
          serializeStep(step, serializeHealth({ route: step.route, models: [] }, healthByCall)),
        ),
        left_out: [
          ...others.leftOut,
          ...disabled.map((name) => ({ upstream: name, model: id, why: 'The upstream is disabled.' })),
        ],
      }
    },
  }),
]
