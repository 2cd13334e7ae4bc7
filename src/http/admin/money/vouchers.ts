/** `/vouchers`: codes that credit an account. Only the response to a creation contains the codes. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin, confirmationAboveRule, requireConfirmationAbove } from '../admin-context.ts'
import { currencyColumn } from '../../csv-export.ts'
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
import { money, returnedOnce, time, timeInput } from '../schemas.ts'
import { parseTime } from '../../api/json-values.ts'

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

const voucherView = view('voucher', voucherSchema, (voucher: Voucher) => jsonFields(voucher))

export const voucherEndpoints = [
  admin.create('/vouchers', {
    summary: 'Create vouchers',
    description: `For vouchers worth more together ${confirmationAboveRule}`,
    body: voucherInput,
    response: newVouchersSchema,
    returns: 'The codes.',
    async handle(context) {
      const { ctx, by, body } = context
      const { amount, count, expires_at: expires } = body
      const amountNanos = parseAmount(amount, 'amount')
      await requireConfirmationAbove(context, amountNanos * BigInt(count))
      const codes = Array.from({ length: count }, generateVoucherCode)
      const [expiresAt, at] = [parseTime(expires) ?? null, Date.now()]
      await createVouchers(ctx.db, { amountNanos, codes, expiresAt, at }, by)
      return { codes, ...jsonFields({ amountNanos, count, expiresAt, createdAt: at }) }
    },
  }),
  admin.page('/vouchers', {
    summary: 'List vouchers, newest first, without their codes',
    item: voucherView,
    filters: {
      status: z.enum(voucherStatuses).optional(),
      account: z.string().optional().meta({ description: 'The account that redeemed it.' }),
    },
    cursor: /^\d+\.[0-9a-f]+$/,
    csv: [
      'id',
      'status',
      'amount',
      currencyColumn,
      'expires_at',
      'created_at',
      'redeemed_at',
      'redeemed_by',
      'revoked_at',
    ],
    handle: ({ ctx, query: { status, account }, page }) =>
      listVouchers(ctx.db, { status, account }, { ...page, at: Date.now() }),
  }),
  admin.post('/vouchers/{id}/revoke', {
    summary: 'Revoke a voucher that has not been redeemed',
    response: voucherView,
    returns: 'The revoked voucher.',
    handle: ({ ctx, by, params }) => revokeVoucher(ctx.db, params.id, Date.now(), by),
  }),
  admin.create('/accounts/{id}/vouchers', {
    summary: 'Redeem a voucher for an account; a code can be redeemed once',
    body: z.strictObject({ code: z.string().max(1000) }),
    response: redeemedVoucherSchema,
    returns: 'Credited durably.',
    async handle({ ctx, by, params, body }) {
      const account = await requireAccount(ctx.db, params.id)
      const { voucher, creditId, balance } = await ctx.redeemVoucher(account.id, body.code, by)
      return {
        voucher: voucher.id,
        account: account.id,
        amount: formatAmount(voucher.amountNanos),
        balance: formatAmount(balance),
        credit: creditId,
      }
    },
  }),
]
