/** Money of an account: its entries, vouchers, caps, monthly statements. */
import { z } from 'zod'
import { call, type AnswerOf } from './call.ts'
import { caps, capsIn, money, pageFields, pageOf, sums, time } from '../../api/json-schemas.ts'

const wallet = z.object({
  currency: z.string(),
  balance: money,
  held: money,
  available: money,
  spent_today: money,
  spent_month: money,
  caps,
})
const entry = z.object({
  id: z.string(),
  time,
  kind: z.enum(['charge', 'credit']),
  /** Negative is money that went. */
  amount: money,
  /** After this entry; null in a list of credits alone, which does not see the charges between them. */
  balance: money.nullable(),
  /** Where a credit came from: `credit`, `trial`, `voucher`, `refund`, `demo`. */
  source: z.string().nullable(),
  /** An operator's words. */
  reason: z.string().nullable(),
  /** The request of a charge. */
  request_id: z.string().nullable(),
})

const statement = z.object({
  /** `2026-11`, a month of the account's zone. */
  month: z.string(),
  timezone: z.string(),
  from: time,
  to: time,
  /** The month is over, so nothing of it changes any more. */
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

export const billingCalls = {
  wallet: call(['GET', '/billing', 'customer'], { answer: wallet }),
  entries: call(['GET', '/billing/entries', 'customer'], {
    query: z.strictObject({ ...pageFields, kind: z.literal('credit').optional() }),
    answer: pageOf(entry),
  }),
  setCaps: call(['PATCH', '/billing/caps', 'customer'], { body: capsIn, answer: wallet }),
  redeem: call(['POST', '/billing/vouchers', 'customer'], {
    body: z.strictObject({ code: z.string().max(100) }),
    answer: z.object({ amount: money, balance: money }),
  }),
  /** The months that have one, newest first. */
  statements: call(['GET', '/billing/statements', 'customer'], {
    answer: z.object({ data: z.array(z.string()) }),
  }),
  statement: call(['GET', '/billing/statements/:month', 'customer'], { answer: statement }),
} as const

/** Not JSON: CSV that streams. */
export const entriesCsvPath = '/billing/entries.csv'

export type Wallet = z.infer<typeof wallet>
export type Entry = z.infer<typeof entry>
export type Statement = AnswerOf<typeof billingCalls.statement>
