/** `/tiers`: the limits and the price factor that accounts start from. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createTier,
  listTiers,
  tierByName,
  updateTier,
  type Tier,
  type TierPatch,
} from '../../../accounts/tiers.ts'
import { refuse } from '../../../errors.ts'
import { factorOf, factorPpmOf } from '../../../lib/money.ts'
import { announced, type Desk } from '../desk.ts'
import { bodyOf, createdAnswer, listAnswer, okAnswer, tierLimits } from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

const limits = z.strictObject(tierLimits).partial()
const factor = z.string().max(64).meta({ description: 'Multiplies prices.', example: '0.9' })
const tierPatch = limits.extend({
  price_factor: factor.optional(),
  after_payment: z.string().nullish().meta({
    description: 'The tier to which its accounts move at their first payment (not a trial); null: they stay.',
  }),
})
const tierIn = tierPatch.extend({ name: z.string() })
export const tierOut = z
  .object({
    name: z.string(),
    ...tierLimits,
    price_factor: factor,
    after_payment: z.string().nullable(),
  })
  .openapi('Tier', { description: 'Per minute, per minute, per day, at once; null is unlimited.' })
const namePath = z.object({ name: z.string() })

function tierView(tier: Tier): z.infer<typeof tierOut> {
  const { name, limits, priceFactorPpm, afterPayment } = tier
  return { name, ...limits, price_factor: factorOf(priceFactorPpm), after_payment: afterPayment }
}

function patchOf(given: z.infer<typeof tierPatch>): TierPatch {
  const { price_factor: ownFactor, after_payment: afterPayment, ...patch } = given
  const priceFactorPpm = ownFactor === undefined ? undefined : factorPpmOf(ownFactor, 'price_factor')
  return { ...patch, priceFactorPpm, afterPayment }
}

const create = createRoute({
  method: 'post',
  path: '/tiers',
  summary: 'Add a tier; limits that are not given are unlimited',
  request: { body: bodyOf(tierIn) },
  responses: createdAnswer(tierOut, 'The tier.'),
})
const list = createRoute({
  method: 'get',
  path: '/tiers',
  summary: 'List tiers by name',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(tierOut, 'All tiers.'),
})
const read = createRoute({
  method: 'get',
  path: '/tiers/{name}',
  summary: 'Read a tier',
  request: { params: namePath },
  responses: okAnswer(tierOut, 'The tier.'),
})
const update = createRoute({
  method: 'patch',
  path: '/tiers/{name}',
  summary: 'Change the fields given; null is unlimited',
  request: { params: namePath, body: bodyOf(tierPatch) },
  responses: okAnswer(tierOut, 'The tier as it is now.'),
})

export function tierRoutes(desk: Desk): OpenAPIHono {
  const { db } = desk.house
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { name, ...rest } = c.req.valid('json')
    return c.json(tierView(await announced(desk, createTier(db, { ...patchOf(rest), name }, desk.by))), 201)
  })
  app.openapi(list, async (c) => {
    const tiers = (await listTiers(db)).map(tierView)
    return c.json(
      shownOf(tiers, c.req.valid('query'), ({ name }) => name),
      200,
    )
  })
  app.openapi(read, async (c) => {
    const tier = await tierByName(db, c.req.valid('param').name)
    if (tier === undefined) throw refuse('not_found', { message: 'There is no such tier.' })
    return c.json(tierView(tier), 200)
  })
  app.openapi(update, async (c) => {
    const { name } = c.req.valid('param')
    const patch = patchOf(c.req.valid('json'))
    return c.json(tierView(await announced(desk, updateTier(db, name, patch, desk.by))), 200)
  })
  return app
}
