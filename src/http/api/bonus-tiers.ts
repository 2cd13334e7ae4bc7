/** The tiers of a promotion of recharges, in the JSON of the admin API and the console API. */
import { z } from '@hono/zod-openapi'
import { money } from './json-schemas.ts'

export const bonusTier = z.strictObject({
  min: money.meta({ description: 'The smallest credit of a recharge, without its bonus.' }),
  fixed: money.optional(),
  percent: money.optional().meta({ description: 'Of the credit: more than 0, at most 100.' }),
  max: money.optional().meta({ description: 'The most that a percent gives.' }),
})
