/** `/payments/bank-rows`: a bank's list, pasted by an operator, with the orders that its rows seem to pay. */
import { z } from '@hono/zod-openapi'
import { matchBankList, transferStatuses, type BankList } from '../../../payments/bank-list.ts'
import { formatMinor } from '../../../lib/currency.ts'
import { apiError } from '../../../errors.ts'
import { view } from '../../api/define-endpoints.ts'
import { orderStates } from '../../api/payment-orders.ts'
import { admin } from '../admin-context.ts'
import { money } from '../schemas.ts'

const bankRowSchema = z.object({
  line: z.int().meta({ description: 'In the list, counted from 1.' }),
  date: z.string().nullable().meta({ example: '2026-11-28' }),
  amount: money,
  transaction: z.string().nullable().meta({ description: 'The bank’s serial number.' }),
  payer: z.string().nullable(),
  status: z.enum(transferStatuses).meta({
    description:
      '`different_amount`: than ordered. `awaits_second`: one operator has confirmed it. `entered`: the serial number is that of a payment. `other_reference`: the reference is that of a paid order, or not of this relay.',
  }),
  matched_by: z.enum(['reference', 'payer']).nullable().meta({
    description: '`payer`: the amount is that of the order, and its account has paid under this name before.',
  }),
  order: z.string().nullable(),
  order_state: z.enum(orderStates).nullable(),
  account: z.string().nullable(),
  expected: money.nullable().meta({ description: 'What was ordered.' }),
})
export const bankRowsSchema = z
  .object({
    currency: z.string(),
    rows: z.array(bankRowSchema),
    unread_lines: z.array(z.int()).meta({ description: 'Lines whose amount cannot be read.' }),
  })
  .openapi('BankRows')

const bankRowsView = view(
  'rows',
  bankRowsSchema,
  ({ transfers, unreadLines, currency }: BankList & { readonly currency: string }) => ({
    currency,
    rows: transfers.map(({ row, day, status, by, order, orderState, account, expectedMinor }) => ({
      line: row.line,
      date: day,
      amount: formatMinor(row.amountMinor, currency),
      transaction: row.transaction,
      payer: row.payer,
      status,
      matched_by: by,
      order,
      order_state: orderState,
      account,
      expected: expectedMinor === null ? null : formatMinor(expectedMinor, currency),
    })),
    unread_lines: [...unreadLines],
  }),
)

export const bankRowEndpoints = [
  admin.post('/payments/bank-rows', {
    summary: 'Match the rows of a bank’s list with orders by bank transfer; nothing is credited',
    description:
      'By the reference in any cell, else by amount and payer if one order and one row fit each other alone. Confirm each with `POST /orders/{id}/confirm`.',
    body: z.strictObject({
      csv: z.string().min(1).meta({
        description:
          'As the bank exports it, with a line that names the columns. With commas, semicolons or tabs.',
      }),
    }),
    response: bankRowsView,
    returns: 'The rows of money that arrived, in the order of the list.',
    async handle({ ctx, body: { csv } }) {
      const merchant = ctx.config.bankAccount
      const currency = await ctx.payments.currencyOf('bank')
      if (currency === undefined || merchant === null)
        throw apiError('not_found', { message: 'This payment method is not configured.' })
      return { ...(await matchBankList(ctx.db, csv, { merchant, currency })), currency }
    },
  }),
]
