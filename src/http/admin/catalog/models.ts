/** `/models`: the models that callers can request, with routes and versioned prices. */
import { z } from '@hono/zod-openapi'
import { perLimit } from '../../api/json-schemas.ts'
import { fieldsOf } from '../../../db/row-fields.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { currencyColumn } from '../../csv-export.ts'
import {
  priceColumns,
  costsInput,
  costsSchema,
  perTimeout,
  toPriceInput,
  pricesInput,
  pricesSchema,
  serializeCosts,
  serializePrice,
  tierLimitFields,
  time,
  timeoutsInput,
  toUpstreamCosts,
} from '../schemas.ts'
import {
  createModel,
  deleteModel,
  listModels,
  modelById,
  updateModel,
  type Model,
  type ModelPatch,
} from '../../../catalog/models.ts'
import { pricesRequired, type PriceInput } from '../../../catalog/price-input.ts'
import { priceHistory } from '../../../catalog/prices.ts'
import { modelOperations, operationsWithoutOutput } from '../../../catalog/operations.ts'
import { maximumStates } from '../../../catalog/route-maximums.ts'
import { preferences } from '../../../catalog/routing.ts'
import { apiError } from '../../../errors.ts'
import { formatTime } from '../../api/json-values.ts'

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
        maximum: z
          .enum(maximumStates)
          .optional()
          .meta({ description: 'Ignored, so that a response can be sent back.' }),
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
  limits: z.strictObject(perLimit(limitInput)).nullish().meta({
    description: 'Per calling account, in addition to the limits of the account; null removes them.',
  }),
  timeouts: timeoutsInput.optional().meta({
    description:
      'Of each timeout, the shorter one of the model and the upstream applies; null: the upstream’s.',
  }),
  operations: z.array(z.enum(modelOperations)).optional().meta({
    description: 'What the model can do, which determines its endpoints. Default: `["chat"]`.',
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
        maximum: z.enum(maximumStates).meta({
          description:
            'Whether the upstream obeys the maximum of output tokens: `unseen` until a response has ended at it, `exceeded` once one was longer. Until it is `obeyed`, requests hold more than they ask for.',
        }),
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
    timeouts: z.object(perTimeout(z.int().nullable())).meta({ description: 'null: the upstream’s.' }),
    operations: z.array(z.enum(modelOperations)),
    owned_by: z.string(),
    listed: z.boolean(),
    created_at: time,
    updated_at: time,
  })
  .openapi('Model')
export const priceVersionSchema = z
  .object({ version: z.int(), model: z.string(), effective_at: time, prices: pricesSchema })
  .openapi('PriceVersion')

const noTimeouts = { connectMs: null, firstTokenMs: null, idleMs: null, answerMs: null }

const modelView = view('model', modelSchema, (model: Model, { catalog }) => ({
  ...jsonFields(model),
  ...model.routing,
  fallbacks: [...model.routing.fallbacks],
  operations: [...model.operations],
  limits: model.limits,
  timeouts: jsonFields({ ...noTimeouts, ...model.timeouts }),
  prices: serializePrice(model.price),
  routes: model.routes.map(({ upstreamId, upstreamModel, cost, ...route }) => ({
    ...jsonFields(route),
    upstream: upstreamId,
    model: upstreamModel,
    cost: serializeCosts(cost),
  })),
  effective_costs: model.routes.map(({ upstreamId, cost }) => {
    const price = catalog.costOf(upstreamId, cost)
    return price && serializePrice(price)
  }),
}))

/** Prices of a model without output. */
function withoutOutput(prices: z.infer<typeof pricesInput>): z.infer<typeof pricesInput> {
  const above = prices.above?.map((entry) => ({ output: '0', ...entry }))
  return { output: '0', ...prices, ...(above ? { above } : {}) }
}

/** Reads `prices`, or `free` inside it or instead of it; undefined if neither is given. */
function resolvePrices({ prices, free, operations }: z.infer<typeof modelPatch>): PriceInput | undefined {
  if (prices === undefined) return free === true ? { free } : undefined
  const hasOutput = operations?.every((each) => operationsWithoutOutput.has(each)) !== true
  const isInputOnly = !hasOutput && prices.free !== true
  if (free === undefined) return toPriceInput(isInputOnly ? withoutOutput(prices) : prices)
  throw apiError('invalid_request', {
    param: 'prices',
    message: 'Invalid `prices`: cannot be combined with "free".',
  })
}

function toModelPatch(body: z.infer<typeof modelPatch>): ModelPatch {
  const { prices: _prices, free: _free, routes, timeouts, ...rest } = body
  return {
    ...fieldsOf(rest),
    prices: resolvePrices(body),
    timeouts: timeouts && fieldsOf(timeouts),
    routes: routes?.map(({ cost, maximum: _seen, ...route }, index) => ({
      ...fieldsOf(route),
      cost: cost && toUpstreamCosts(cost, `routes[${index}].cost`),
    })),
  }
}

export const modelEndpoints = [
  admin.create('/models', {
    summary: 'Create a model; prices or `free` are required',
    body: modelInput,
    response: modelView,
    handle({ ctx, by, body, publish }) {
      const patch = toModelPatch(body)
      if (patch.prices === undefined) throw pricesRequired()
      const input = { ...patch, id: body.id, contextTokens: body.context_tokens }
      return publish(createModel(ctx.db, input, by))
    },
  }),
  admin.list('/models', {
    summary: 'List models by id',
    item: modelView,
    filters: {
      q: z.string().trim().toLowerCase().max(300).default('').meta({ description: 'Part of an id.' }),
    },
    idOf: ({ id }) => id,
    csv: [
      'id',
      'owned_by',
      'listed',
      'context_tokens',
      'max_output_tokens',
      ...priceColumns,
      currencyColumn,
      'price_version',
      'routes',
      'prefer',
      'affinity',
      'fallbacks',
      'created_at',
      'updated_at',
    ],
    handle: async ({ ctx, query: { q } }) =>
      (await listModels(ctx.db)).filter(({ id }) => id.toLowerCase().includes(q)),
  }),
  admin.get('/models/{id}', {
    summary: 'Get a model',
    response: modelView,
    handle: ({ ctx, params }) => modelById(ctx.db, params.id),
  }),
  admin.patch('/models/{id}', {
    summary: 'Update a model; changed prices become a new version, requests in progress keep theirs',
    body: modelPatch,
    response: modelView,
    handle: ({ ctx, by, params, body, publish }) =>
      publish(updateModel(ctx.db, params.id, toModelPatch(body), by)),
  }),
  admin.delete('/models/{id}', {
    summary: 'Delete a model',
    handle: ({ ctx, by, params, publish }) => publish(deleteModel(ctx.db, params.id, by)),
  }),
  admin.list('/models/{id}/prices', {
    summary: 'List the price versions of a model, newest first',
    item: priceVersionSchema,
    returns: 'The latest 100 versions.',
    idOf: ({ version }) => String(version),
    async handle({ ctx: { db }, params: { id } }) {
      if ((await modelById(db, id)) === undefined)
        throw apiError('not_found', { message: 'Model not found.' })
      return (await priceHistory(db, id)).map(({ version, effectiveAt, price }) => ({
        version,
        model: id,
        effective_at: formatTime(effectiveAt),
        prices: serializePrice(price),
      }))
    },
  }),
]
