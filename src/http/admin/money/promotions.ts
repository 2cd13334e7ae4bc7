/** `/promotions`: trial credit for a limited time, once per mailbox, and bonuses for recharges. */
import { z } from '@hono/zod-openapi'
import { fieldsOf } from '../../../db/row-fields.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { currencyColumn, namedColumns } from '../../csv-export.ts'
import {
  createPromotion,
  promotionById,
  promotionStates,
  updatePromotion,
  type Promotion,
  type PromotionPatch,
} from '../../../ledger/credits/promotions.ts'
import { invalidField } from '../../../errors.ts'
import {
  createRechargePromotion,
  rechargePromotionById,
  updateRechargePromotion,
  type RechargePromotion,
} from '../../../payments/recharge-promotions.ts'
import {
  listAllPromotions,
  rechargeFields,
  rechargePromotionSchema,
  requireOnly,
  serializeRecharge,
  toRechargeInput,
  toRechargePatch,
} from './recharge-promotions.ts'
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
const promotionInput = promotionPatch.extend({
  name: z.string(),
  on: z.enum(['sign_up', 'recharge']).optional().meta({ description: 'Default: `sign_up`.' }),
  ...rechargeFields,
})
export const promotionSchema = z
  .object({
    id: z.string(),
    on: z.literal('sign_up'),
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

// A union of schemas shows what it is given, so nothing else may be in it.
function serializeSignUp({ grantsMax, ...promotion }: Promotion) {
  return { ...jsonFields(promotion), on: 'sign_up' as const, max_grants: grantsMax }
}
const promotionView = view(
  'promotion',
  z.union([promotionSchema, rechargePromotionSchema]),
  (promotion: Promotion | RechargePromotion) =>
    'tiers' in promotion ? serializeRecharge(promotion) : serializeSignUp(promotion),
)

type AnyFields = Omit<z.infer<typeof promotionSchema>, 'on'> &
  Omit<z.infer<typeof rechargePromotionSchema>, 'on'>

/** A column that is empty for promotions of the other kind. */
const columnOf = (name: keyof AnyFields) => namedColumns<AnyFields>([name])[0] ?? currencyColumn

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
    summary: 'Create a promotion: trial credit for new accounts, or a bonus for recharges',
    body: promotionInput,
    response: promotionView,
    handle({ ctx, by, body: { on, ...body } }): Promise<Promotion | RechargePromotion> {
      const at = Date.now()
      if (on === 'recharge') return createRechargePromotion(ctx.db, toRechargeInput(body, at), { at, by })
      requireOnly(body, Object.keys(promotionPatch.shape))
      if (body.amount === undefined) throw invalidField('amount', 'is required')
      const amountNanos = parseAmount(body.amount, 'amount')
      const input = { ...toPromotionPatch(promotionPatch.parse(body)), name: body.name, amountNanos }
      return createPromotion(ctx.db, input, { at, by })
    },
  }),
  admin.page('/promotions', {
    summary: 'List promotions, newest first',
    item: promotionView,
    cursor: /^pro_[0-9a-z]{26}$/,
    csv: [
      'id',
      'on',
      'name',
      columnOf('amount'),
      currencyColumn,
      columnOf('code'),
      'state',
      'status',
      'starts_at',
      'ends_at',
      columnOf('granted'),
      columnOf('max_grants'),
      columnOf('credit_days'),
      columnOf('tiers'),
      columnOf('first_only'),
      columnOf('used'),
      columnOf('budget'),
      columnOf('per_account'),
      'created_at',
      'updated_at',
    ],
    handle: ({ ctx, page }) => listAllPromotions(ctx.db, { ...page, at: Date.now() }),
  }),
  admin.get('/promotions/{id}', {
    summary: 'Get a promotion',
    response: promotionView,
    handle: async ({ ctx, params }) =>
      (await rechargePromotionById(ctx.db, params.id)) ?? promotionById(ctx.db, params.id, Date.now()),
  }),
  admin.patch('/promotions/{id}', {
    summary: 'Update a promotion; affects future grants only',
    body: promotionPatch,
    response: promotionView,
    async handle({ ctx, by, params, body }): Promise<Promotion | RechargePromotion> {
      const action = { at: Date.now(), by }
      if ((await rechargePromotionById(ctx.db, params.id)) === undefined)
        return updatePromotion(ctx.db, params.id, toPromotionPatch(body), action)
      return updateRechargePromotion(ctx.db, params.id, toRechargePatch(body), action)
    },
  }),
]
