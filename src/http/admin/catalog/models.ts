/** `/models`: what callers name, with routes and versioned prices. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createModel,
  deleteModel,
  listModels,
  modelById,
  updateModel,
  type Model,
  type ModelPatch,
} from '../../../catalog/models.ts'
import { priceHistory, priceMissing, type PriceInput } from '../../../catalog/prices.ts'
import { preferences } from '../../../catalog/routing.ts'
import { refuse } from '../../../errors.ts'
import { announced, type Desk } from '../desk.ts'
import {
  bodyOf,
  createdAnswer,
  gone,
  idPath,
  listAnswer,
  okAnswer,
  priceInputOf,
  pricesIn,
  pricesOut,
  pricesView,
  tierLimits,
  time,
  timeOf,
} from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

const limitIn = z.int().min(0).nullish()

const patchFields = {
  context_tokens: z.int().optional(),
  max_output_tokens: z.int().nullish(),
  hidden_reasoning: z
    .boolean()
    .optional()
    .meta({ description: 'Thinks unseen: its stream does not show the reasoning that it bills.' }),
  prices: pricesIn.optional(),
  free: z.literal(true).optional().meta({ description: 'In the place of `prices`.' }),
  routes: z
    .array(
      z.strictObject({
        upstream: z.string().meta({ description: 'An upstream’s id or name.' }),
        model: z.string().meta({ description: 'The upstream’s name for the model.' }),
        priority: z.int().nullish(),
        weight: z.int().nullish(),
      }),
    )
    .optional(),
  prefer: z.enum(preferences).optional().meta({
    description:
      'Among upstreams of one priority: by weight, the one that costs us least, or the one that answers soonest.',
  }),
  affinity: z.boolean().optional().meta({
    description:
      'A conversation, or requests of one `prompt_cache_key` or `user`, stays with its upstream while that is healthy.',
  }),
  fallbacks: z.array(z.string()).optional().meta({
    description:
      'Models that may answer when no upstream of this one does: in this order, and none that costs more.',
  }),
  limits: z
    .strictObject({ rpm: limitIn, tpm: limitIn, rpd: limitIn, concurrency: limitIn })
    .nullish()
    .meta({ description: 'Of each account that calls it, beside its own; null removes them.' }),
  owned_by: z.string().optional(),
  listed: z.boolean().optional(),
}
const modelPatch = z.strictObject(patchFields)
const modelIn = z.strictObject({ ...patchFields, id: z.string(), context_tokens: z.int() })

export const modelOut = z
  .object({
    id: z.string(),
    context_tokens: z.int(),
    max_output_tokens: z.int().nullable(),
    hidden_reasoning: z.boolean(),
    prices: pricesOut,
    price_version: z.int(),
    routes: z.array(
      z.object({
        upstream: z.string().meta({ description: 'The upstream’s id.' }),
        model: z.string(),
        priority: z.int().nullable().meta({ description: 'null is the upstream’s own.' }),
        weight: z.int().nullable(),
      }),
    ),
    prefer: z.enum(preferences),
    affinity: z.boolean(),
    fallbacks: z.array(z.string()),
    limits: z.object(tierLimits).nullable(),
    owned_by: z.string(),
    listed: z.boolean(),
    created_at: time,
    updated_at: time,
  })
  .openapi('Model')
export const versionOut = z
  .object({ version: z.int(), model: z.string(), effective_at: time, prices: pricesOut })
  .openapi('PriceVersion')

function modelView(model: Model): z.infer<typeof modelOut> {
  return {
    id: model.id,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    hidden_reasoning: model.hiddenReasoning,
    prices: pricesView(model.price),
    price_version: model.priceVersion,
    routes: model.routes.map((route) => ({
      upstream: route.upstreamId,
      model: route.upstreamModel,
      priority: route.priority,
      weight: route.weight,
    })),
    prefer: model.routing.prefer,
    affinity: model.routing.affinity,
    fallbacks: [...model.routing.fallbacks],
    limits: model.limits,
    owned_by: model.ownedBy,
    listed: model.listed,
    created_at: timeOf(model.createdAt),
    updated_at: timeOf(model.updatedAt),
  }
}

/** The prices of a body: `prices`, or `free` said inside or in place of it; undefined when neither is given. */
function pricesOf({ prices, free }: z.infer<typeof modelPatch>): PriceInput | undefined {
  if (prices === undefined) return free === true ? { free } : undefined
  if (free === undefined) return priceInputOf(prices)
  throw refuse('invalid_request', { param: 'prices', message: 'prices are given, or "free" is, not both.' })
}

function patchOf(given: z.infer<typeof modelPatch>): ModelPatch {
  return {
    contextTokens: given.context_tokens,
    maxOutputTokens: given.max_output_tokens,
    hiddenReasoning: given.hidden_reasoning,
    ownedBy: given.owned_by,
    listed: given.listed,
    prices: pricesOf(given),
    routes: given.routes,
    prefer: given.prefer,
    affinity: given.affinity,
    fallbacks: given.fallbacks,
    limits: given.limits,
  }
}

const create = createRoute({
  method: 'post',
  path: '/models',
  summary: 'Offer a model; it has to have prices, or be said to be free',
  request: { body: bodyOf(modelIn) },
  responses: createdAnswer(modelOut, 'The model.'),
})
const list = createRoute({
  method: 'get',
  path: '/models',
  summary: 'List models by their id',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(modelOut, 'All models.'),
})
const read = createRoute({
  method: 'get',
  path: '/models/{id}',
  summary: 'Read a model',
  request: { params: idPath },
  responses: okAnswer(modelOut, 'The model.'),
})
const update = createRoute({
  method: 'patch',
  path: '/models/{id}',
  summary: 'Change the fields given; other prices are a new version, running requests keep theirs',
  request: { params: idPath, body: bodyOf(modelPatch) },
  responses: okAnswer(modelOut, 'The model as it is now.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/models/{id}',
  summary: 'Take a model out of service',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is gone.'),
})
const versions = createRoute({
  method: 'get',
  path: '/models/{id}/prices',
  summary: 'The versions of a model’s prices, newest first',
  request: { params: idPath, query: z.strictObject(shortListFields) },
  responses: listAnswer(versionOut, 'The newest hundred.'),
})

export function modelRoutes(desk: Desk): OpenAPIHono {
  const { db } = desk.house

  async function known(id: string): Promise<Model> {
    const model = await modelById(db, id)
    if (model === undefined) throw refuse('not_found', { message: 'There is no such model.' })
    return model
  }

  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const given = c.req.valid('json')
    const patch = patchOf(given)
    if (patch.prices === undefined) throw priceMissing()
    const input = { ...patch, id: given.id, contextTokens: given.context_tokens }
    return c.json(modelView(await announced(desk, createModel(db, input, desk.by))), 201)
  })
  app.openapi(list, async (c) => {
    const models = (await listModels(db)).map(modelView)
    return c.json(
      shownOf(models, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  app.openapi(read, async (c) => c.json(modelView(await known(c.req.valid('param').id)), 200))
  app.openapi(update, async (c) => {
    const { id } = c.req.valid('param')
    const patch = patchOf(c.req.valid('json'))
    return c.json(modelView(await announced(desk, updateModel(db, id, patch, desk.by))), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await announced(desk, deleteModel(db, id, desk.by))
    return c.json({ id, deleted: true as const }, 200)
  })
  app.openapi(versions, async (c) => {
    const { id } = await known(c.req.valid('param').id)
    const data = (await priceHistory(db, id)).map((version) => ({
      version: version.version,
      model: id,
      effective_at: timeOf(version.effectiveAt),
      prices: pricesView(version.price),
    }))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ version }) => String(version)),
      200,
    )
  })
  return app
}
