/** `/accounts/{id}/credits` and `/accounts/{id}/entries`: crediting an account, and its ledger entries. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { onceView, money, time } from '../schemas.ts'
import { currencyColumn } from '../../csv-export.ts'
import { auditStatement } from '../../../db/audit.ts'
import { apiError } from '../../../errors.ts'
import { formatAmount, parseAmount } from '../../../lib/money.ts'
import { listMovements, type Movement } from '../../../usage/statement.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { formatTime } from '../../api/json-values.ts'

const creditInput = z.strictObject({
  amount: money.meta({ description: 'Negative to debit, at most down to the held amount.' }),
  reason: z.string().trim().min(1).max(500),
  kind: z.enum(['credit', 'payment', 'refund']).default('credit').meta({
    description: 'The source of the credit. The first payment can change the tier.',
  }),
  idempotency_key: z.string().min(1).max(200).meta({ description: 'Repeating a key does not credit again.' }),
})
const creditSchema = z
  .object({
    id: z.string(),
    account: z.string(),
    amount: money,
    balance: money,
    reason: z.string(),
    kind: z.string(),
    idempotency_key: z.string(),
  })
  .openapi('Credit')
export const entrySchema = z
  .object({
    id: z.string(),
    time,
    kind: z.string().meta({ description: '`charge` or `credit`.' }),
    amount: money.meta({ description: 'Negative for charges and debits.' }),
    balance: money.meta({ description: 'The balance after this entry.' }),
    reason: z.string().nullable(),
    source: z.string().nullable(),
    reference: z.string().nullable().meta({ description: 'The id of the request or the credit.' }),
  })
  .openapi('Entry')

const entryView = view('entry', entrySchema, (entry: Movement) => ({
  ...jsonFields(entry),
  id: String(entry.id),
  time: formatTime(entry.at),
}))

export const creditEndpoints = [
  admin.create('/accounts/{id}/credits', {
    summary: 'Credit or debit an account',
    body: creditInput,
    response: onceView(creditSchema),
    returns: 'Entered durably.',
    existing: 'Already entered with the same key.',
    async handle({ ctx, by, params, body: { amount: text, reason, kind, idempotency_key: key } }) {
      const { id: account } = await requireAccount(ctx.db, params.id)
      const amount = parseAmount(text, 'amount')
      if (amount === 0n)
        throw apiError('invalid_request', { param: 'amount', message: 'Invalid `amount`: must not be 0.' })
      const receipt = await ctx.credit({ account, amount, reason, source: kind, idempotencyKey: key })
      const { id, isNew } = receipt
      if (isNew) {
        const detail = { amount: text, kind, reason, credit: id }
        await ctx.db.write(auditStatement(by, 'account.credit', account, detail))
      }
      const amounts = { amount: formatAmount(receipt.amount), balance: formatAmount(receipt.balance) }
      return { isNew, json: { id, account, ...amounts, reason, kind, idempotency_key: key } }
    },
  }),
  admin.page('/accounts/{id}/entries', {
    summary: 'List the ledger entries of an account with running balances, newest first',
    item: entryView,
    returns: 'A page of entries.',
    cursor: /^\d+\.-?\d+$/,
    csv: ['time', 'id', 'kind', 'amount', 'balance', currencyColumn, 'source', 'reason', 'reference'],
    handle: async ({ ctx: { db }, params, page }) =>
      listMovements(db, (await requireAccount(db, params.id)).id, page),
  }),
]
