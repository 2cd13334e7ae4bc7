/** `/accounts/{id}/credits`, `/accounts/{id}/entries` and `/requests/{id}/refund`: credits, ledger entries and refunds. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { admin, confirmationAboveRule, requireConfirmationAbove } from '../admin-context.ts'
import { onceView, money } from '../schemas.ts'
import { orderRefund, refundedNanos } from '../../../ledger/credits/refunds.ts'
import { newId } from '../../../lib/ids.ts'
import { parseAmount, formatAmount } from '../../../lib/money.ts'
import { view } from '../../api/define-endpoints.ts'
import { currencyColumn } from '../../csv-export.ts'
import { auditStatement } from '../../../db/audit.ts'
import { apiError } from '../../../errors.ts'
import { listMovements } from '../../../usage/statement.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { entrySchema, serializeEntry } from '../../api/entries.ts'

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
const entryView = view('entry', entrySchema, serializeEntry)

const refundInput = z.strictObject({
  reason: z.string().trim().min(1).max(500),
  amount: money.optional().meta({ description: 'Default: everything not yet refunded.' }),
  idempotency_key: z.string().min(1).max(200).optional().meta({
    description: 'Repeating a key does not refund again. Without a key, every call is a separate refund.',
  }),
})
export const refundSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the credit: the reference of its ledger entry.' }),
    request_id: z.string(),
    account: z.string(),
    amount: money,
    cost: money.meta({ description: 'The cost of the request.' }),
    refunded: money.meta({
      description: 'Total refunded for the request, including this refund; at most its cost.',
    }),
    balance: money.meta({ description: 'The balance of the account after this refund.' }),
  })
  .openapi('Refund')

export const creditEndpoints = [
  admin.create('/accounts/{id}/credits', {
    summary: 'Credit or debit an account',
    description: `For an amount ${confirmationAboveRule}`,
    body: creditInput,
    response: onceView(creditSchema),
    returns: 'Entered durably.',
    existing: 'Already entered with the same key.',
    async handle(context) {
      const { ctx, by, params, body } = context
      const { amount: text, reason, kind, idempotency_key: key } = body
      const { id: account } = await requireAccount(ctx.db, params.id)
      const amount = parseAmount(text, 'amount')
      if (amount === 0n)
        throw apiError('invalid_request', { param: 'amount', message: 'Invalid `amount`: must not be 0.' })
      await requireConfirmationAbove(context, amount)
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
  admin.create('/requests/{id}/refund', {
    summary: 'Refund the cost of a request, in full or in part',
    body: refundInput,
    response: onceView(refundSchema),
    returns: 'Entered durably.',
    existing: 'Already entered with the same key.',
    async handle({ ctx, by, params: { id: requestId }, body: { reason, amount, idempotency_key: key } }) {
      const amountNanos = amount === undefined ? null : parseAmount(amount, 'amount')
      const idempotencyKey = key ?? newId('ref')
      const order = { requestId, amountNanos, reason, idempotencyKey, at: Date.now(), by }
      const ordered = await orderRefund(ctx.db, order)
      const { balance } = await ctx.applyCreditOrder(ordered.creditId)
      const amounts = { refundedNanos: await refundedNanos(ctx.db, requestId), balanceNanos: balance }
      const json = { ...jsonFields({ ...ordered, ...amounts, requestId }), id: ordered.creditId }
      return { isNew: ordered.isNew, json }
    },
  }),
]
