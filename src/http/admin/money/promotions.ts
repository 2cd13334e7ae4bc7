/** `/promotions`: trial credit for a limited time, once per mailbox. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { apiError } from '../../../errors.ts'
import {
  createPromotion,
  listPromotions,
  promotionById,
  promotionStates,
  updatePromotion,
  type Promotion,
  type PromotionPatch,
} from '../../../ledger/credits/promotions.ts'
import { formatAmount, parseAmount } from '../../../lib/money.ts'
import type { AdminContext } from '../admin-context.ts'
import {
  jsonBody,
  createdResponse,
  idParams,
  listResponse,
  money,
  okResponse,
  time,
  timeInput,
} from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, parseTime, formatTime } from '../../api/json-values.ts'

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

const create = createRoute({
  method: 'post',
  path: '/promotions',
  summary: 'Create a promotion: while it runs, accounts created with `trial` get its amount',
  request: { body: jsonBody(promotionInput) },
  responses: createdResponse(promotionSchema, 'The promotion.'),
})
const list = createRoute({
  method: 'get',
  path: '/promotions',
  summary: 'List promotions, newest first',
  request: { query: z.strictObject(pageFields) },
  responses: listResponse(promotionSchema, 'A page of promotions.'),
})
const read = createRoute({
  method: 'get',
  path: '/promotions/{id}',
  summary: 'Get a promotion',
  request: { params: idParams },
  responses: okResponse(promotionSchema, 'The promotion.'),
})
const update = createRoute({
  method: 'patch',
  path: '/promotions/{id}',
  summary: 'Update a promotion; affects future grants only',
  request: { params: idParams, body: jsonBody(promotionPatch) },
  responses: okResponse(promotionSchema, 'The updated promotion.'),
})

function serializePromotion(promotion: Promotion): z.infer<typeof promotionSchema> {
  return {
    id: promotion.id,
    name: promotion.name,
    amount: formatAmount(promotion.amountNanos),
    code: promotion.code,
    starts_at: formatTime(promotion.startsAt),
    ends_at: formatTime(promotion.endsAt),
    max_grants: promotion.grantsMax,
    granted: promotion.granted,
    credit_days: promotion.creditDays,
    status: promotion.status,
    state: promotion.state,
    created_at: formatTime(promotion.createdAt),
    updated_at: formatTime(promotion.updatedAt),
  }
}

function toPromotionPatch(body: z.infer<typeof promotionPatch>): PromotionPatch {
  return {
    name: body.name,
    code: body.code,
    amountNanos: body.amount === undefined ? undefined : parseAmount(body.amount, 'amount'),
    startsAt: parseTime(body.starts_at),
    endsAt: parseTime(body.ends_at),
    grantsMax: body.max_grants,
    creditDays: body.credit_days,
    status: body.status,
  }
}

export function promotionRoutes({ ctx: { db }, by }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const body = c.req.valid('json')
    const input = {
      ...toPromotionPatch(body),
      name: body.name,
      amountNanos: parseAmount(body.amount, 'amount'),
    }
    return c.json(serializePromotion(await createPromotion(db, input, { at: Date.now(), by })), 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const page = { limit, cursor: decodeCursor(cursor, /^pro_[0-9a-z]{26}$/), at: Date.now() }
    const { data, next } = await listPromotions(db, page)
    return c.json({ data: data.map(serializePromotion), next: encodeCursor(next) }, 200)
  })
  app.openapi(read, async (c) => {
    const promotion = await promotionById(db, c.req.valid('param').id, Date.now())
    if (promotion === undefined) throw apiError('not_found', { message: 'Promotion not found.' })
    return c.json(serializePromotion(promotion), 200)
  })
  app.openapi(update, async (c) => {
    const [{ id }, patch] = [c.req.valid('param'), toPromotionPatch(c.req.valid('json'))]
    return c.json(serializePromotion(await updatePromotion(db, id, patch, { at: Date.now(), by })), 200)
  })
  return app
}
