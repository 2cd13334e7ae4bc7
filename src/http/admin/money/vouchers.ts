/** `/vouchers`: codes that are worth money. They are in the answer to their creation only. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createVouchers,
  listVouchers,
  revokeVoucher,
  voucherStatuses,
  type Voucher,
} from '../../../ledger/credits/vouchers.ts'
import { decimalOf, nanosOf } from '../../../lib/money.ts'
import { newVoucherCode } from '../../../lib/voucher-code.ts'
import { knownAccount } from '../accounts/accounts.ts'
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
    status: z.enum(voucherStatuses),
    amount: money,
    expires_at: time.nullable(),
    created_at: time,
    redeemed_at: time.nullable(),
    redeemed_by: z.string().nullable().meta({ description: 'The account.' }),
    revoked_at: time.nullable(),
  })
  .openapi('Voucher')
const redeemedOut = z
  .object({
    voucher: z.string(),
    account: z.string(),
    amount: money,
    balance: money.meta({ description: 'Of the account, with it.' }),
    credit: z.string().meta({ description: 'The entry’s reference.' }),
  })
  .openapi('RedeemedVoucher')

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
  request: {
    query: z.strictObject({
      ...pageFields,
      status: z.enum(voucherStatuses).optional(),
      account: z.string().optional().meta({ description: 'Who redeemed it.' }),
    }),
  },
  responses: listAnswer(voucherOut, 'A page of vouchers.'),
})
const revoke = createRoute({
  method: 'post',
  path: '/vouchers/{id}/revoke',
  summary: 'End a voucher that nobody has redeemed',
  request: { params: idPath },
  responses: okAnswer(voucherOut, 'The voucher as it is now.'),
})
const redeem = createRoute({
  method: 'post',
  path: '/accounts/{id}/vouchers',
  summary: 'Redeem a voucher for an account: a code is credited once, ever',
  request: { params: idPath, body: bodyOf(z.strictObject({ code: z.string().max(1000) })) },
  responses: createdAnswer(redeemedOut, 'Credited, and durable.'),
})

function voucherView(voucher: Voucher): z.infer<typeof voucherOut> {
  return {
    id: voucher.id,
    status: voucher.status,
    amount: decimalOf(voucher.amountNanos),
    expires_at: timeOf(voucher.expiresAt),
    created_at: timeOf(voucher.createdAt),
    redeemed_at: timeOf(voucher.redeemedAt),
    redeemed_by: voucher.redeemedBy,
    revoked_at: timeOf(voucher.revokedAt),
  }
}

export function voucherRoutes({ house, by }: Desk): OpenAPIHono {
  const { db } = house
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
    const { limit, cursor, ...filter } = c.req.valid('query')
    const page = { limit, cursor: openedCursor(cursor, /^\d+\.[0-9a-f]+$/), at: Date.now() }
    const { data, next } = await listVouchers(db, filter, page)
    return c.json({ data: data.map(voucherView), next: sealedCursor(next) }, 200)
  })
  app.openapi(revoke, async (c) => {
    return c.json(voucherView(await revokeVoucher(db, c.req.valid('param').id, Date.now(), by)), 200)
  })
  app.openapi(redeem, async (c) => {
    const account = await knownAccount(db, c.req.valid('param').id)
    const { voucher, creditId, balance } = await house.redeem(account.id, c.req.valid('json').code, by)
    const [amount, now] = [decimalOf(voucher.amountNanos), decimalOf(balance)]
    return c.json({ voucher: voucher.id, account: account.id, amount, balance: now, credit: creditId }, 201)
  })
  return app
}
