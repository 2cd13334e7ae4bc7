/** `/promotions`: trial credit for a while, once for each mailbox. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { refuse } from '../../../errors.ts'
import {
  createPromotion,
  listPromotions,
  promotionById,
  promotionStates,
  updatePromotion,
  type Promotion,
  type PromotionPatch,
} from '../../../ledger/credits/promotions.ts'
import { decimalOf, nanosOf } from '../../../lib/money.ts'
import type { Desk } from '../desk.ts'
import {
  bodyOf,
  createdAnswer,
  idPath,
  listAnswer,
  money,
  msOf,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeIn,
  timeOf,
} from '../schemas.ts'

const status = z.enum(['active', 'paused'])
const patchIn = z.strictObject({
  name: z.string().optional(),
  amount: money.optional(),
  code: z.string().nullish().meta({ description: 'Who names it gets it; null: everybody.' }),
  starts_at: timeIn.optional().meta({ description: 'Default: now.' }),
  ends_at: timeIn.nullish(),
  max_grants: z.int().min(1).nullish(),
  credit_days: z.int().min(1).max(3650).nullish().meta({
    description: 'After so many days what is left of a credit is taken back; null: never.',
  }),
  status: status.optional(),
})
const promotionIn = patchIn.extend({ name: z.string(), amount: money })
export const promotionOut = z
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
    state: z.enum(promotionStates).meta({ description: 'At the moment.' }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Promotion')

const create = createRoute({
  method: 'post',
  path: '/promotions',
  summary: 'Add a promotion: accounts made with `trial` get its amount while it runs',
  request: { body: bodyOf(promotionIn) },
  responses: createdAnswer(promotionOut, 'The promotion.'),
})
const list = createRoute({
  method: 'get',
  path: '/promotions',
  summary: 'List promotions, newest first',
  request: { query: z.strictObject(pageFields) },
  responses: listAnswer(promotionOut, 'A page of promotions.'),
})
const read = createRoute({
  method: 'get',
  path: '/promotions/{id}',
  summary: 'Read a promotion',
  request: { params: idPath },
  responses: okAnswer(promotionOut, 'The promotion.'),
})
const update = createRoute({
  method: 'patch',
  path: '/promotions/{id}',
  summary: 'Change the fields given, for what is granted from now on',
  request: { params: idPath, body: bodyOf(patchIn) },
  responses: okAnswer(promotionOut, 'The promotion as it is now.'),
})

function promotionView(promotion: Promotion): z.infer<typeof promotionOut> {
  return {
    id: promotion.id,
    name: promotion.name,
    amount: decimalOf(promotion.amountNanos),
    code: promotion.code,
    starts_at: timeOf(promotion.startsAt),
    ends_at: timeOf(promotion.endsAt),
    max_grants: promotion.grantsMax,
    granted: promotion.granted,
    credit_days: promotion.creditDays,
    status: promotion.status,
    state: promotion.state,
    created_at: timeOf(promotion.createdAt),
    updated_at: timeOf(promotion.updatedAt),
  }
}

function patchOf(given: z.infer<typeof patchIn>): PromotionPatch {
  return {
    name: given.name,
    code: given.code,
    amountNanos: given.amount === undefined ? undefined : nanosOf(given.amount, 'amount'),
    startsAt: msOf(given.starts_at),
    endsAt: msOf(given.ends_at),
    grantsMax: given.max_grants,
    creditDays: given.credit_days,
    status: given.status,
  }
}

export function promotionRoutes({ house: { db }, by }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const given = c.req.valid('json')
    const input = { ...patchOf(given), name: given.name, amountNanos: nanosOf(given.amount, 'amount') }
    return c.json(promotionView(await createPromotion(db, input, { at: Date.now(), by })), 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const page = { limit, cursor: openedCursor(cursor, /^pro_[0-9a-z]{26}$/), at: Date.now() }
    const { data, next } = await listPromotions(db, page)
    return c.json({ data: data.map(promotionView), next: sealedCursor(next) }, 200)
  })
  app.openapi(read, async (c) => {
    const promotion = await promotionById(db, c.req.valid('param').id, Date.now())
    if (promotion === undefined) throw refuse('not_found', { message: 'There is no such promotion.' })
    return c.json(promotionView(promotion), 200)
  })
  app.openapi(update, async (c) => {
    const [{ id }, patch] = [c.req.valid('param'), patchOf(c.req.valid('json'))]
    return c.json(promotionView(await updatePromotion(db, id, patch, { at: Date.now(), by })), 200)
  })
  return app
}
