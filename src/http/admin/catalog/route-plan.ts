/** `/models/{id}/route`: who would be asked for a model, in which order, and why. Nothing is called. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { allowsModel } from '../../../accounts/allowlists.ts'
import type { Caller } from '../../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../../catalog/catalog.ts'
import { preferences } from '../../../catalog/routing.ts'
import { refuse } from '../../../errors.ts'
import { barOf } from '../../../relay/fallbacks.ts'
import { planOf, type Step } from '../../../relay/routing/route-plan.ts'
import type { Desk } from '../desk.ts'
import { idPath, okAnswer } from '../schemas.ts'
import { healthView, knownOf, stateName, type healthOut } from '../upstream-health.ts'

const stepOut = z.object({
  order: z
    .int()
    .nullable()
    .meta({ description: 'null: it would not be asked, three attempts are the most.' }),
  upstream: z.string(),
  name: z.string(),
  model: z.string().meta({ description: 'The model that would answer: another only from `fallbacks`.' }),
  upstream_model: z.string(),
  priority: z.int(),
  weight: z.int(),
  share: z.number().nullable().meta({ description: 'Of the requests that get to its priority.' }),
  state: stateName,
  why: z.string(),
})
export const planOut = z
  .object({
    model: z.string(),
    prefer: z.enum(preferences),
    affinity: z.boolean(),
    callable: z.boolean(),
    why: z.string().meta({ description: 'Why it cannot be called; empty when it can.' }),
    steps: z.array(stepOut),
    left_out: z.array(z.object({ upstream: z.string().nullable(), model: z.string(), why: z.string() })),
  })
  .openapi('RoutePlan')

function stepView(
  { route, model, ...step }: Step,
  health: z.infer<typeof healthOut>,
): z.infer<typeof stepOut> {
  const { upstream, upstreamModel, priority, weight } = route
  const { order, share, why } = step
  return {
    order,
    upstream: upstream.id,
    name: upstream.name,
    model: model.id,
    upstream_model: upstreamModel,
    priority,
    weight,
    share,
    state: health.state,
    why,
  }
}

const plan = createRoute({
  method: 'get',
  path: '/models/{id}/route',
  summary: 'Which upstreams would be asked for a model, in which order, and why; nothing is called',
  request: {
    params: idPath,
    query: z.strictObject({ key: z.string().optional().meta({ description: 'The id of a key that asks.' }) }),
  },
  responses: okAnswer(planOut, 'The plan.'),
})

/** Models of the table, and why those that may not answer may not. */
function othersOf(catalog: Catalog, model: PricedModel, caller: Caller | null) {
  const others = model.fallbacks.map((id) => {
    const other = catalog.model(id)
    return { id, model: other, why: barOf(other, model, caller) }
  })
  return {
    usable: others.flatMap((other) => (other.model && other.why === null ? [other.model] : [])),
    leftOut: others.flatMap(({ id, why }) => (why === null ? [] : [{ upstream: null, model: id, why }])),
  }
}

export function modelRouteRoutes(desk: Desk): OpenAPIHono {
  const { house } = desk
  const { catalog, directory } = house

  function callerOf(key: string | undefined): Caller | null {
    if (key === undefined) return null
    const caller = directory.keyById(key)
    if (!caller) throw refuse('not_found', { param: 'key', message: 'There is no such key.' })
    return caller
  }

  function whyNot(model: PricedModel, caller: Caller | null): string {
    if (caller && !allowsModel(caller.models, model.id)) return 'The key may not call this model.'
    return model.routes.length === 0 ? 'No enabled upstream serves it.' : ''
  }

  const app = new OpenAPIHono()
  app.openapi(plan, async (c) => {
    const { id } = c.req.valid('param')
    const model = catalog.model(id)
    if (!model) throw refuse('not_found', { message: 'There is no such model.' })
    const caller = callerOf(c.req.valid('query').key)
    const others = othersOf(catalog, model, caller)
    const models = [model, ...others.usable]
    const known = await knownOf(house, models)
    const why = whyNot(model, caller)
    const disabled = catalog.disabledRoutes(id)
    const body = {
      model: id,
      prefer: model.prefer,
      affinity: model.affinity,
      callable: why === '',
      why,
      steps: planOf(models, known, Date.now()).map((step) =>
        stepView(step, healthView({ route: step.route, models: [] }, known)),
      ),
      left_out: [
        ...others.leftOut,
        ...disabled.map((name) => ({ upstream: name, model: id, why: 'The upstream is disabled.' })),
      ],
    }
    return c.json(body, 200)
  })
  return app
}
