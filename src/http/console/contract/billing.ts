/** Contract of an account's billing: wallet, ledger entries, vouchers, caps, monthly statements. */
import { z } from 'zod'
import { defineEndpoint, type ResponseOf } from './endpoint.ts'
import { wallet } from '../../api/wallet.ts'
import { capsInput, money, pageFields, pageOf, sums, time } from '../../api/json-schemas.ts'

const entry = z.object({
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

const statement = z.object({
  /** `2026-11`, in the account's time zone. */
  month: z.string(),
  timezone: z.string(),
  from: time,
  to: time,
  /** The month is over and its figures no longer change. */
  final: z.boolean(),
  account: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  currency: z.string(),
  /** opening + credits − charges = closing, to the last digit. */
  opening: money,
  credits: money,
  charges: money,
  closing: money,
  /** Every credit of the month, oldest first. */
  credit_lines: z.array(
    z.object({ time, source: z.string().nullable(), reason: z.string().nullable(), amount: money }),
  ),
  models: z.array(sums.extend({ model: z.string() })),
  days: z.array(sums.extend({ day: z.string() })),
})

export const billingContract = {
  wallet: defineEndpoint(['GET', '/billing', 'customer'], { response: wallet }),
  entries: defineEndpoint(['GET', '/billing/entries', 'customer'], {
    query: z.strictObject({ ...pageFields, kind: z.literal('credit').optional() }),
    response: pageOf(entry),
  }),
  setCaps: defineEndpoint(['PATCH', '/billing/caps', 'customer'], { body: capsInput, response: wallet }),
  redeem: defineEndpoint(['POST', '/billing/vouchers', 'customer'], {
    body: z.strictObject({ code: z.string().max(100) }),
    response: z.object({ amount: money, balance: money }),
  }),
  /** The months with a statement, newest first. */
  statements: defineEndpoint(['GET', '/billing/statements', 'customer'], {
    response: z.object({ data: z.array(z.string()) }),
  }),
  statement: defineEndpoint(['GET', '/billing/statements/:month', 'customer'], { response: statement }),
} as const

export type Wallet = z.infer<typeof wallet>
export type Entry = z.infer<typeof entry>
export type Statement = ResponseOf<typeof billingContract.statement>
