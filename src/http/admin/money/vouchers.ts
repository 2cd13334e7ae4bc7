/** `/vouchers`: codes that credit an account. Only the response to a creation contains the codes. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createVouchers,
  listVouchers,
  revokeVoucher,
  voucherStatuses,
  type Voucher,
} from '../../../ledger/credits/vouchers.ts'
import { formatAmount, parseAmount } from '../../../lib/money.ts'
import { generateVoucherCode } from '../../../lib/voucher-code.ts'
import { requireAccount } from '../accounts/accounts.ts'
import type { AdminContext } from '../admin-context.ts'
import {
  jsonBody,
  createdResponse,
  idParams,
  listResponse,
  money,
  okResponse,
  returnedOnce,
  time,
  timeInput,
} from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, parseTime, formatTime } from '../../api/json-values.ts'

const voucherInput = z.strictObject({
  amount: money.meta({ description: 'The value of each voucher.' }),
  count: z.int().min(1).max(1000),
  expires_at: timeInput.nullish(),
})
export const newVouchersSchema = z
  .object({
    codes: z.array(z.string()).meta({ description: returnedOnce }),
    amount: money,
    count: z.int(),
    expires_at: time.nullable(),
    created_at: time,
  })
  .openapi('NewVouchers')
export const voucherSchema = z
  .object({
    id: z.string(),
    status: z.enum(voucherStatuses),
    amount: money,
    expires_at: time.nullable(),
    created_at: time,
    redeemed_at: time.nullable(),
    redeemed_by: z.string().nullable().meta({ description: 'The id of the account.' }),
    revoked_at: time.nullable(),
  })
  .openapi('Voucher')
const redeemedVoucherSchema = z
  .object({
    voucher: z.string(),
    account: z.string(),
    amount: money,
    balance: money.meta({ description: 'The balance of the account after the credit.' }),
    credit: z.string().meta({ description: 'The reference of the ledger entry.' }),
  })
  .openapi('RedeemedVoucher')

const create = createRoute({
  method: 'post',
  path: '/vouchers',
  summary: 'Create vouchers',
  request: { body: jsonBody(voucherInput) },
  responses: createdResponse(newVouchersSchema, 'The codes.'),
})
const list = createRoute({
  method: 'get',
  path: '/vouchers',
  summary: 'List vouchers, newest first, without their codes',
  request: {
    query: z.strictObject({
      ...pageFields,
      status: z.enum(voucherStatuses).optional(),
      account: z.string().optional().meta({ description: 'The account that redeemed it.' }),
    }),
  },
  responses: listResponse(voucherSchema, 'A page of vouchers.'),
})
const revoke = createRoute({
  method: 'post',
  path: '/vouchers/{id}/revoke',
  summary: 'Revoke a voucher that has not been redeemed',
  request: { params: idParams },
  responses: okResponse(voucherSchema, 'The revoked voucher.'),
})
const redeem = createRoute({
  method: 'post',
  path: '/accounts/{id}/vouchers',
  summary: 'Redeem a voucher for an account; a code can be redeemed once',
  request: { params: idParams, body: jsonBody(z.strictObject({ code: z.string().max(1000) })) },
  responses: createdResponse(redeemedVoucherSchema, 'Credited durably.'),
})

function serializeVoucher(voucher: Voucher): z.infer<typeof voucherSchema> {
  return {
    id: voucher.id,
    status: voucher.status,
    amount: formatAmount(voucher.amountNanos),
    expires_at: formatTime(voucher.expiresAt),
    created_at: formatTime(voucher.createdAt),
    redeemed_at: formatTime(voucher.redeemedAt),
    redeemed_by: voucher.redeemedBy,
    revoked_at: formatTime(voucher.revokedAt),
  }
}

export function voucherRoutes({ ctx, by }: AdminContext): OpenAPIHono {
  const { db } = ctx
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { amount, count, expires_at: expires } = c.req.valid('json')
    const codes = Array.from({ length: count }, generateVoucherCode)
    const amountNanos = parseAmount(amount, 'amount')
    const [expiresAt, at] = [parseTime(expires) ?? null, Date.now()]
    await createVouchers(db, { amountNanos, codes, expiresAt, at }, by)
    const details = {
      amount: formatAmount(amountNanos),
      count,
      expires_at: formatTime(expiresAt),
      created_at: formatTime(at),
    }
    return c.json({ codes, ...details }, 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid('query')
    const page = { limit, cursor: decodeCursor(cursor, /^\d+\.[0-9a-f]+$/), at: Date.now() }
    const { data, next } = await listVouchers(db, filter, page)
    return c.json({ data: data.map(serializeVoucher), next: encodeCursor(next) }, 200)
  })
  app.openapi(revoke, async (c) => {
    return c.json(serializeVoucher(await revokeVoucher(db, c.req.valid('param').id, Date.now(), by)), 200)
  })
  app.openapi(redeem, async (c) => {
    const account = await requireAccount(db, c.req.valid('param').id)
    const { voucher, creditId, balance } = await ctx.redeemVoucher(account.id, c.req.valid('json').code, by)
    const [amount, now] = [formatAmount(voucher.amountNanos), formatAmount(balance)]
    return c.json({ voucher: voucher.id, account: account.id, amount, balance: now, credit: creditId }, 201)
  })
  return app
}
