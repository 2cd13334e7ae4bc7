/** `/promotions`: trial credit for a limited time, once per mailbox. */
import { z } from '@hono/zod-openapi'
import { fieldsOf } from '../../../db/row-fields.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { currencyColumn } from '../../csv-export.ts'
import {
  createPromotion,
  listPromotions,
  promotionById,
  promotionStates,
  updatePromotion,
  type Promotion,
  type PromotionPatch,
} from '../../../ledger/credits/promotions.ts'
import { parseAmount } from '../../../lib/money.ts'
import { money, time, timeInput } from '../schemas.ts'
import { parseTime } from '../../api/json-values.ts'

const status = z.enum(['active', 'paused'])
const promotionPatch = z.strictObject({
  name: z.string().optional(),
  amount: money.optional(),
  code: z
    .string()
    .nullish()
    .meta({ description: 'Only sign-ups with this code get the credit; null: all do.' }),
  starts_at: timeInput.optional().meta({ description: 'Default: now.' }),
  ends_at: timeInput.nullish(),
  max_grants: z.int().min(1).nullish(),
  credit_days: z.int().min(1).max(3650).nullish().meta({
    description: 'Days after which the unused part of a credit is taken back; null: never.',
  }),
  status: status.optional(),
})
const promotionInput = promotionPatch.extend({ name: z.string(), amount: money })
export const promotionSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    amount: money,
    code: z.string().nullable(),
    starts_at: time,
    ends_at: time.nullable(),
    max_grants: z.int().nullable(),
    granted: z.int(),
    credit_days: z.int().nullable(),
    status,
    state: z.enum(promotionStates).meta({ description: 'The current state.' }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Promotion')

const promotionView = view('promotion', promotionSchema, (promotion: Promotion) => ({
  ...jsonFields(promotion),
  max_grants: promotion.grantsMax,
}))

function toPromotionPatch(body: z.infer<typeof promotionPatch>): PromotionPatch {
  const { amount, max_grants: grantsMax, starts_at: startsAt, ends_at: endsAt, ...rest } = body
  return {
    ...fieldsOf(rest),
    grantsMax,
    amountNanos: amount === undefined ? undefined : parseAmount(amount, 'amount'),
    startsAt: parseTime(startsAt),
    endsAt: parseTime(endsAt),
  }
}

export const promotionEndpoints = [
  admin.create('/promotions', {
    summary: 'Create a promotion: while it runs, accounts created with `trial` get its amount',
    body: promotionInput,
    response: promotionView,
    handle({ ctx, by, body }) {
      const amountNanos = parseAmount(body.amount, 'amount')
      const input = { ...toPromotionPatch(body), name: body.name, amountNanos }
      return createPromotion(ctx.db, input, { at: Date.now(), by })
    },
  }),
  admin.page('/promotions', {
    summary: 'List promotions, newest first',
    item: promotionView,
    cursor: /^pro_[0-9a-z]{26}$/,
    csv: [
      'id',
      'name',
      'amount',
      currencyColumn,
      'code',
      'state',
      'status',
      'starts_at',
      'ends_at',
      'granted',
      'max_grants',
      'credit_days',
      'created_at',
      'updated_at',
    ],
    handle: ({ ctx, page }) => listPromotions(ctx.db, { ...page, at: Date.now() }),
  }),
  admin.get('/promotions/{id}', {
    summary: 'Get a promotion',
    response: promotionView,
    handle: ({ ctx, params }) => promotionById(ctx.db, params.id, Date.now()),
  }),
  admin.patch('/promotions/{id}', {
    summary: 'Update a promotion; affects future grants only',
    body: promotionPatch,
    response: promotionView,
    handle: ({ ctx, by, params, body }) =>
      updatePromotion(ctx.db, params.id, toPromotionPatch(body), { at: Date.now(), by }),
  }),
]
