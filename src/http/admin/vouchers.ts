/** `/vouchers`: codes that are worth money. They are in the answer to their creation only. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { createVouchers, listVouchers } from '../../ledger/vouchers.ts'
import { decimalOf, nanosOf } from '../../lib/money.ts'
import { newVoucherCode } from '../../lib/voucher-code.ts'
import type { Desk } from './desk.ts'
import {
  bodyOf,
  createdAnswer,
  listAnswer,
  money,
  msOf,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeIn,
  timeOf,
} from './schemas.ts'

const voucherIn = z.strictObject({
  amount: money.meta({ description: 'What each is worth.' }),
  count: z.int().min(1).max(1000),
  expires_at: timeIn.nullish(),
})
export const vouchersOut = z
  .object({
    codes: z.array(z.string()).meta({ description: 'Only here, only now.' }),
    amount: money,
    count: z.int(),
    expires_at: time.nullable(),
    created_at: time,
  })
  .openapi('NewVouchers')
export const voucherOut = z
  .object({
    id: z.string(),
    amount: money,
    expires_at: time.nullable(),
    created_at: time,
    redeemed_at: time.nullable(),
    redeemed_by: z.string().nullable().meta({ description: 'The account.' }),
  })
  .openapi('Voucher')

const create = createRoute({
  method: 'post',
  path: '/vouchers',
  summary: 'Make vouchers',
  request: { body: bodyOf(voucherIn) },
  responses: createdAnswer(vouchersOut, 'The codes.'),
})
const list = createRoute({
  method: 'get',
  path: '/vouchers',
  summary: 'List vouchers, newest first, without their codes',
  request: { query: z.strictObject(pageFields) },
  responses: listAnswer(voucherOut, 'A page of vouchers.'),
})

export function voucherRoutes({ house: { db }, by }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { amount, count, expires_at: expires } = c.req.valid('json')
    const codes = Array.from({ length: count }, newVoucherCode)
    const amountNanos = nanosOf(amount, 'amount')
    const [expiresAt, at] = [msOf(expires) ?? null, Date.now()]
    await createVouchers(db, { amountNanos, codes, expiresAt, at }, by)
    const terms = {
      amount: decimalOf(amountNanos),
      count,
      expires_at: timeOf(expiresAt),
      created_at: timeOf(at),
    }
    return c.json({ codes, ...terms }, 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const page = { limit, cursor: openedCursor(cursor, /^\d+\.[0-9a-f]+$/) }
    const { data, next } = await listVouchers(db, page)
    const views = data.map((voucher) => ({
      id: voucher.id,
      amount: decimalOf(voucher.amountNanos),
      expires_at: timeOf(voucher.expiresAt),
      created_at: timeOf(voucher.createdAt),
      redeemed_at: timeOf(voucher.redeemedAt),
      redeemed_by: voucher.redeemedBy,
    }))
    return c.json({ data: views, next: sealedCursor(next) }, 200)
  })
  return app
}
