/** `/tiers`: the default limits and price factor of accounts. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createTier,
  listTiers,
  tierByName,
  updateTier,
  type Tier,
  type TierPatch,
} from '../../../accounts/tiers.ts'
import { apiError } from '../../../errors.ts'
import { formatFactor, parseFactor } from '../../../lib/money.ts'
import type { AdminContext } from '../admin-context.ts'
import { writeAndPublish } from '../../api/publish.ts'
import { jsonBody, createdResponse, listResponse, okResponse, tierLimitFields } from '../schemas.ts'
import { optionalPageFields, paginate } from '../pagination.ts'

const limits = z.strictObject(tierLimitFields).partial()
const factor = z.string().max(64).meta({ description: 'Multiplies prices.', example: '0.9' })
const tierPatch = limits.extend({
  price_factor: factor.optional(),
  after_payment: z.string().nullish().meta({
    description:
      'The tier that accounts move to on their first payment (not on trial credit); null: they stay.',
  }),
})
const tierInput = tierPatch.extend({ name: z.string() })
export const tierSchema = z
  .object({
    name: z.string(),
    ...tierLimitFields,
    price_factor: factor,
    after_payment: z.string().nullable(),
  })
  .openapi('Tier', {
    description:
      'rpm: requests per minute, tpm: tokens per minute, rpd: requests per day, concurrency: concurrent requests; null: unlimited.',
  })
const nameParams = z.object({ name: z.string() })

function serializeTier(tier: Tier): z.infer<typeof tierSchema> {
  const { name, limits, priceFactorPpm, afterPayment } = tier
  return { name, ...limits, price_factor: formatFactor(priceFactorPpm), after_payment: afterPayment }
}

function toTierPatch(body: z.infer<typeof tierPatch>): TierPatch {
  const { price_factor: priceFactor, after_payment: afterPayment, ...patch } = body
  const priceFactorPpm = priceFactor === undefined ? undefined : parseFactor(priceFactor, 'price_factor')
  return { ...patch, priceFactorPpm, afterPayment }
}

const create = createRoute({
  method: 'post',
  path: '/tiers',
  summary: 'Create a tier; omitted limits are unlimited',
  request: { body: jsonBody(tierInput) },
  responses: createdResponse(tierSchema, 'The tier.'),
})
const list = createRoute({
  method: 'get',
  path: '/tiers',
  summary: 'List tiers by name',
  request: { query: z.strictObject(optionalPageFields) },
  responses: listResponse(tierSchema, 'All tiers.'),
})
const read = createRoute({
  method: 'get',
  path: '/tiers/{name}',
  summary: 'Get a tier',
  request: { params: nameParams },
  responses: okResponse(tierSchema, 'The tier.'),
})
const update = createRoute({
  method: 'patch',
  path: '/tiers/{name}',
  summary: 'Update a tier; null: unlimited',
  request: { params: nameParams, body: jsonBody(tierPatch) },
  responses: okResponse(tierSchema, 'The updated tier.'),
})

export function tierRoutes(admin: AdminContext): OpenAPIHono {
  const { db } = admin.ctx
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { name, ...rest } = c.req.valid('json')
    return c.json(
      serializeTier(await writeAndPublish(admin, createTier(db, { ...toTierPatch(rest), name }, admin.by))),
      201,
    )
  })
  app.openapi(list, async (c) => {
    const tiers = (await listTiers(db)).map(serializeTier)
    return c.json(
      paginate(tiers, c.req.valid('query'), ({ name }) => name),
      200,
    )
  })
  app.openapi(read, async (c) => {
    const tier = await tierByName(db, c.req.valid('param').name)
    if (tier === undefined) throw apiError('not_found', { message: 'Tier not found.' })
    return c.json(serializeTier(tier), 200)
  })
  app.openapi(update, async (c) => {
    const { name } = c.req.valid('param')
    const patch = toTierPatch(c.req.valid('json'))
    return c.json(serializeTier(await writeAndPublish(admin, updateTier(db, name, patch, admin.by))), 200)
  })
  return app
}
