/** An account's billing: wallet, ledger entries, vouchers, caps. */
import { z } from 'zod'
import { updateAccount } from '../../../accounts/accounts.ts'
import { formatAmount } from '../../../lib/money.ts'
import { listCredits, listMovements } from '../../../usage/statement.ts'
import { decodeCursor, encodeCursor, parseOptionalAmount } from '../../api/json-values.ts'
import { readWallet, wallet } from '../../api/wallet.ts'
import { capsInput, money, pageFields, pageOf } from '../../api/json-schemas.ts'
import { entrySchema, serializeCredit, serializeEntry } from '../../api/entries.ts'
import { automaticRechargeEndpoints } from './automatic-recharge.ts'
import { invoiceEndpoints } from './invoices.ts'
import { orderEndpoints } from './payment-orders.ts'
import { refundEndpoints } from './payment-refunds.ts'
import { receiptEndpoints } from './receipts.ts'
import { statementEndpoints } from './statements.ts'
import { currencyColumn, dayColumn } from '../../csv-export.ts'
import { customer } from '../context.ts'

export type Wallet = z.infer<typeof wallet>

/** Without a balance in a list of credits only, which does not read the charges in between. */
const accountEntrySchema = entrySchema.extend({ balance: money.nullable() })
export type Entry = z.infer<typeof accountEntrySchema>

/** The id of a credit can contain what an operator wrote for themselves. */
const withoutCreditId = (entry: Entry): Entry =>
  entry.kind === 'charge' || entry.kind === 'late' ? entry : { ...entry, reference: null }

export const billingEndpoints = {
  wallet: customer.get('/billing', {
    response: wallet,
    handle: ({ account, ctx }) => readWallet(account, ctx),
  }),
  entries: customer.get('/billing/entries', {
    query: { ...pageFields, kind: z.literal('credit').optional() },
    response: pageOf(accountEntrySchema),
    csv: [
      'time',
      'id',
      'kind',
      'amount',
      'balance',
      'source',
      'reason',
      { name: 'request_id', valueOf: ({ reference }) => reference },
      currencyColumn,
      dayColumn,
    ],
    handle: async ({ ctx, accountId, query }) => {
      const { limit, cursor, kind } = query
      const page = { limit, cursor: decodeCursor(cursor, kind === 'credit' ? /^\d+$/ : /^\d+\.-?\d+$/) }
      if (kind === 'credit') {
        const { data, next } = await listCredits(ctx.db, accountId, page)
        return {
          data: data.map((entry) => withoutCreditId({ ...serializeCredit(entry), balance: null })),
          next: encodeCursor(next),
        }
      }
      const { data, next } = await listMovements(ctx.db, accountId, page)
      return { data: data.map((entry) => withoutCreditId(serializeEntry(entry))), next: encodeCursor(next) }
    },
  }),
  setCaps: customer.patch('/billing/caps', {
    body: capsInput,
    response: wallet,
    handle: async (context) => {
      const { ctx, accountId, by, body, publish } = context
      const caps = {
        dailyNanos: parseOptionalAmount(body.daily, 'daily'),
        monthlyNanos: parseOptionalAmount(body.monthly, 'monthly'),
      }
      await publish(updateAccount(ctx.db, accountId, { caps }, by))
      return readWallet(context.account, ctx)
    },
  }),
  redeem: customer.post('/billing/vouchers', {
    body: z.strictObject({ code: z.string().max(100) }),
    response: z.object({ amount: money, balance: money }),
    handle: async ({ ctx, accountId, by, body }) => {
      const { voucher, balance } = await ctx.redeemVoucher(accountId, body.code, by)
      return { amount: formatAmount(voucher.amountNanos), balance: formatAmount(balance) }
    },
  }),
  ...orderEndpoints,
  ...automaticRechargeEndpoints,
  ...refundEndpoints,
  ...receiptEndpoints,
  ...invoiceEndpoints,
  ...statementEndpoints,
}
