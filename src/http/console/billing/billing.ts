/** An account's billing: wallet, ledger entries, vouchers, caps. */
import { z } from 'zod'
import { updateAccount } from '../../../accounts/accounts.ts'
import { formatAmount } from '../../../lib/money.ts'
import { listCredits, listMovements, type Credit } from '../../../usage/statement.ts'
import { decodeCursor, encodeCursor, parseOptionalAmount, formatTime } from '../../api/json-values.ts'
import { readWallet, wallet } from '../../api/wallet.ts'
import { capsInput, money, pageFields, pageOf, time } from '../../api/json-schemas.ts'
import { statementEndpoints } from './statements.ts'
import { currencyColumn, dayColumn } from '../../csv-export.ts'
import { customer } from '../context.ts'

export type Wallet = z.infer<typeof wallet>

const entrySchema = z.object({
  id: z.string(),
  time,
  kind: z.enum(['charge', 'credit']),
  /** Negative for charges and debits. */
  amount: money,
  /** The balance after this entry; null in a list of credits only, which does not read the charges in between. */
  balance: money.nullable(),
  /** The source of a credit: `credit`, `trial`, `voucher`, `refund`, `demo`. */
  source: z.string().nullable(),
  /** As an operator wrote it. */
  reason: z.string().nullable(),
  /** The request that was charged. */
  request_id: z.string().nullable(),
})
export type Entry = z.infer<typeof entrySchema>

function serializeEntry(entry: Credit, balanceNanos: bigint | null): Entry {
  const isCharge = entry.kind === 'charge'
  return {
    id: String(entry.id),
    time: formatTime(entry.at),
    kind: isCharge ? 'charge' : 'credit',
    amount: formatAmount(entry.amountNanos),
    balance: balanceNanos === null ? null : formatAmount(balanceNanos),
    source: entry.source,
    reason: entry.reason,
    request_id: isCharge ? entry.reference : null,
  }
}

export const billingEndpoints = {
  wallet: customer.get('/billing', {
    response: wallet,
    handle: ({ account, ctx }) => readWallet(account, ctx),
  }),
  entries: customer.get('/billing/entries', {
    query: { ...pageFields, kind: z.literal('credit').optional() },
    response: pageOf(entrySchema),
    csv: [
      'time',
      'id',
      'kind',
      'amount',
      'balance',
      'source',
      'reason',
      'request_id',
      currencyColumn,
      dayColumn,
    ],
    handle: async ({ ctx, accountId, query }) => {
      const { limit, cursor, kind } = query
      const page = { limit, cursor: decodeCursor(cursor, kind === 'credit' ? /^\d+$/ : /^\d+\.-?\d+$/) }
      if (kind === 'credit') {
        const { data, next } = await listCredits(ctx.db, accountId, page)
        return { data: data.map((entry) => serializeEntry(entry, null)), next: encodeCursor(next) }
      }
      const { data, next } = await listMovements(ctx.db, accountId, page)
      return {
        data: data.map((entry) => serializeEntry(entry, entry.balanceNanos)),
        next: encodeCursor(next),
      }
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
  ...statementEndpoints,
}
