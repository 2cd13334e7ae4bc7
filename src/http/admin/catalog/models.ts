/** `/models`: the models that callers can request, with routes and versioned prices. */
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
import type { Catalog } from '../../../catalog/catalog.ts'
import { priceHistory, pricesRequired, type PriceInput } from '../../../catalog/prices.ts'
import { preferences } from '../../../catalog/routing.ts'
import { apiError } from '../../../errors.ts'
import type { AdminContext } from '../admin-context.ts'
import { writeAndPublish } from '../../api/publish.ts'
import {
  jsonBody,
  costsInput,
  costsSchema,
  createdResponse,
  deletedSchema,
  idParams,
  listResponse,
  okResponse,
  toPriceInput,
  pricesInput,
  pricesSchema,
  serializeCosts,
  serializePrice,
  tierLimitFields,
  time,
  toUpstreamCosts,
} from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

const limitInput = z.int().min(0).nullish()

const patchFields = {
  context_tokens: z.int().optional(),
  max_output_tokens: z.int().nullish(),
  hidden_reasoning: z
    .boolean()
    .optional()
    .meta({ description: 'The model bills reasoning tokens that its stream does not show.' }),
  prices: pricesInput.optional(),
  free: z.literal(true).optional().meta({ description: 'Instead of `prices`.' }),
  routes: z
    .array(
      z.strictObject({
        upstream: z.string().meta({ description: 'The id or name of an upstream.' }),
        model: z.string().meta({ description: 'The name of the model at the upstream.' }),
        priority: z.int().nullish(),
        weight: z.int().nullish(),
        expose_model: z.boolean().optional().meta({
          description:
            'Responses carry the upstream’s name for the model; by default they carry the id of the model if the names differ.',
        }),
        cost: costsInput.nullish(),
      }),
    )
    .optional(),
  prefer: z.enum(preferences).optional().meta({
    description: 'How to choose among upstreams of equal priority: by weight, lowest cost or lowest latency.',
  }),
  affinity: z.boolean().optional().meta({
    description:
      'Requests of one conversation, `prompt_cache_key` or `user` stay on the same upstream while it is healthy.',
  }),
  fallbacks: z.array(z.string()).optional().meta({
    description:
      'Models to try, in this order, if no upstream of this model responds. More expensive models are skipped.',
  }),
  limits: z
    .strictObject({ rpm: limitInput, tpm: limitInput, rpd: limitInput, concurrency: limitInput })
    .nullish()
    .meta({
      description: 'Per calling account, in addition to the limits of the account; null removes them.',
    }),
  owned_by: z.string().optional(),
  listed: z.boolean().optional(),
}
const modelPatch = z.strictObject(patchFields)
const modelInput = z.strictObject({ ...patchFields, id: z.string(), context_tokens: z.int() })

export const modelSchema = z
  .object({
    id: z.string(),
    context_tokens: z.int(),
    max_output_tokens: z.int().nullable(),
    hidden_reasoning: z.boolean(),
    prices: pricesSchema,
    price_version: z.int(),
    routes: z.array(
      z.object({
        upstream: z.string().meta({ description: 'The id of the upstream.' }),
        model: z.string(),
        priority: z.int().nullable().meta({ description: 'null: the priority of the upstream.' }),
        weight: z.int().nullable(),
        expose_model: z.boolean(),
        cost: costsSchema.nullable(),
      }),
    ),
    effective_costs: z.array(pricesSchema.nullable()).meta({
      description:
        'What each of the `routes` costs you, in the platform’s currency: its `cost`, otherwise the `prices` of an upstream that serves only one model. null: unknown.',
    }),
    prefer: z.enum(preferences),
    affinity: z.boolean(),
    fallbacks: z.array(z.string()),
    limits: z.object(tierLimitFields).nullable(),
    owned_by: z.string(),
    listed: z.boolean(),
    created_at: time,
    updated_at: time,
  })
  .openapi('Model')
export const priceVersionSchema = z
  .object({ version: z.int(), model: z.string(), effective_at: time, prices: pricesSchema })
  .openapi('PriceVersion')

function serializeModel(model: Model, catalog: Catalog): z.infer<typeof modelSchema> {
  return {
    id: model.id,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    hidden_reasoning: model.hiddenReasoning,
    prices: serializePrice(model.price),
    price_version: model.priceVersion,
    routes: model.routes.map((route) => ({
      upstream: route.upstreamId,
      model: route.upstreamModel,
      priority: route.priority,
      weight: route.weight,
      expose_model: route.exposeModel,
      cost: serializeCosts(route.cost),
    })),
    effective_costs: model.routes.map(({ upstreamId, cost }) => {
      const price = catalog.costOf(upstreamId, cost)
      return price && serializePrice(price)
    }),
    prefer: model.routing.prefer,
    affinity: model.routing.affinity,
    fallbacks: [...model.routing.fallbacks],
    limits: model.limits,
    owned_by: model.ownedBy,
    listed: model.listed,
    created_at: formatTime(model.createdAt),
    updated_at: formatTime(model.updatedAt),
  }
}

/** Reads `prices`, or `free` inside it or instead of it; undefined if neither is given. */
function resolvePrices({ prices, free }: z.infer<typeof modelPatch>): PriceInput | undefined {
  if (prices === undefined) return free === true ? { free } : undefined
  if (free === undefined) return toPriceInput(prices)
  throw apiError('invalid_request', {
    param: 'prices',
    message: 'Invalid `prices`: cannot be combined with "free".',
  })
}

function toModelPatch(body: z.infer<typeof modelPatch>): ModelPatch {
  return {
    contextTokens: body.context_tokens,
    maxOutputTokens: body.max_output_tokens,
    hiddenReasoning: body.hidden_reasoning,
    ownedBy: body.owned_by,
    listed: body.listed,
    prices: resolvePrices(body),
    routes: body.routes?.map(({ expose_model: exposeModel, cost, ...route }, index) => ({
      ...route,
      exposeModel,
      cost: cost && toUpstreamCosts(cost, `routes[${index}].cost`),
    })),
    prefer: body.prefer,
    affinity: body.affinity,
    fallbacks: body.fallbacks,
    limits: body.limits,
  }
}

const create = createRoute({
  method: 'post',
  path: '/models',
  summary: 'Create a model; prices or `free` are required',
  request: { body: jsonBody(modelInput) },
  responses: createdResponse(modelSchema, 'The model.'),
})
const list = createRoute({
  method: 'get',
  path: '/models',
  summary: 'List models by id',
  request: {
    query: z.strictObject({
      ...optionalPageFields,
      q: z.string().trim().toLowerCase().max(300).default('').meta({ description: 'Part of an id.' }),
    }),
  },
  responses: listResponse(modelSchema, 'All models.'),
})
const read = createRoute({
  method: 'get',
  path: '/models/{id}',
  summary: 'Get a model',
  request: { params: idParams },
  responses: okResponse(modelSchema, 'The model.'),
})
const update = createRoute({
  method: 'patch',
  path: '/models/{id}',
  summary: 'Update a model; changed prices become a new version, requests in progress keep theirs',
  request: { params: idParams, body: jsonBody(modelPatch) },
  responses: okResponse(modelSchema, 'The updated model.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/models/{id}',
  summary: 'Delete a model',
  request: { params: idParams },
  responses: okResponse(deletedSchema, 'Deleted.'),
})
const versions = createRoute({
  method: 'get',
  path: '/models/{id}/prices',
  summary: 'List the price versions of a model, newest first',
  request: { params: idParams, query: z.strictObject(optionalPageFields) },
  responses: listResponse(priceVersionSchema, 'The latest 100 versions.'),
})

export function modelRoutes(admin: AdminContext): OpenAPIHono {
  const { db, catalog } = admin.ctx
  const serialize = (model: Model): z.infer<typeof modelSchema> => serializeModel(model, catalog)

  async function requireModel(id: string): Promise<Model> {
    const model = await modelById(db, id)
    if (model === undefined) throw apiError('not_found', { message: 'Model not found.' })
    return model
  }

  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const body = c.req.valid('json')
    const patch = toModelPatch(body)
    if (patch.prices === undefined) throw pricesRequired()
    const input = { ...patch, id: body.id, contextTokens: body.context_tokens }
    return c.json(serialize(await writeAndPublish(admin, createModel(db, input, admin.by))), 201)
  })
  app.openapi(list, async (c) => {
    const { q, ...page } = c.req.valid('query')
    const models = (await listModels(db)).filter(({ id }) => id.toLowerCase().includes(q))
    const { data, next } = paginate(models, page, ({ id }) => id)
    return c.json({ data: data.map(serialize), next }, 200)
  })
  app.openapi(read, async (c) => c.json(serialize(await requireModel(c.req.valid('param').id)), 200))
  app.openapi(update, async (c) => {
    const { id } = c.req.valid('param')
    const patch = toModelPatch(c.req.valid('json'))
    return c.json(serialize(await writeAndPublish(admin, updateModel(db, id, patch, admin.by))), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await writeAndPublish(admin, deleteModel(db, id, admin.by))
    return c.json({ id, deleted: true as const }, 200)
  })
  app.openapi(versions, async (c) => {
    const { id } = await requireModel(c.req.valid('param').id)
    const data = (await priceHistory(db, id)).map((version) => ({
      version: version.version,
      model: id,
      effective_at: formatTime(version.effectiveAt),
      prices: serializePrice(version.price),
    }))
    return c.json(
      paginate(data, c.req.valid('query'), ({ version }) => String(version)),
      200,
    )
  })
  return app
}
