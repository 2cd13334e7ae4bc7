/** `/tiers`: the default limits and price factor of accounts. */
import { z } from '@hono/zod-openapi'
import { view } from '../../api/define-endpoints.ts'
import {
  createTier,
  listTiers,
  tierByName,
  updateTier,
  type Tier,
  type TierPatch,
} from '../../../accounts/tiers.ts'
import { formatFactor, parseFactor } from '../../../lib/money.ts'
import { admin } from '../admin-context.ts'
import { tierLimitFields } from '../schemas.ts'

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

const tierView = view('tier', tierSchema, (tier: Tier) => {
  const { name, limits, priceFactorPpm, afterPayment } = tier
  return { name, ...limits, price_factor: formatFactor(priceFactorPpm), after_payment: afterPayment }
})

function toTierPatch(body: z.infer<typeof tierPatch>): TierPatch {
  const { price_factor: priceFactor, after_payment: afterPayment, ...patch } = body
  const priceFactorPpm = priceFactor === undefined ? undefined : parseFactor(priceFactor, 'price_factor')
  return { ...patch, priceFactorPpm, afterPayment }
}

export const tierEndpoints = [
  admin.create('/tiers', {
    summary: 'Create a tier; omitted limits are unlimited',
    body: tierInput,
    response: tierView,
    handle: ({ ctx, by, body: { name, ...rest }, publish }) =>
      publish(createTier(ctx.db, { ...toTierPatch(rest), name }, by)),
  }),
  admin.list('/tiers', {
    summary: 'List tiers by name',
    item: tierView,
    csv: ['name', 'rpm', 'tpm', 'rpd', 'concurrency', 'price_factor', 'after_payment'],
    idOf: ({ name }) => name,
    handle: ({ ctx }) => listTiers(ctx.db),
  }),
  admin.get('/tiers/{name}', {
    summary: 'Get a tier',
    response: tierView,
    handle: ({ ctx, params }) => tierByName(ctx.db, params.name),
  }),
  admin.patch('/tiers/{name}', {
    summary: 'Update a tier; null: unlimited',
    body: tierPatch,
    response: tierView,
    handle: ({ ctx, by, params, body, publish }) =>
      publish(updateTier(ctx.db, params.name, toTierPatch(body), by)),
  }),
]
