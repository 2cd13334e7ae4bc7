/** `/accounts/{id}/credits` and `/accounts/{id}/entries`: crediting an account, and its ledger entries. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { auditStatement } from '../../../db/audit.ts'
import { apiError } from '../../../errors.ts'
import { formatAmount, parseAmount } from '../../../lib/money.ts'
import { listMovements, type Movement } from '../../../usage/statement.ts'
import { requireAccount } from '../accounts/accounts.ts'
import type { AdminContext } from '../admin-context.ts'
import { jsonBody, idempotentResponse, idParams, listResponse, money, time } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, formatTime } from '../../api/json-values.ts'

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

const credit = createRoute({
  method: 'post',
  path: '/accounts/{id}/credits',
  summary: 'Credit or debit an account',
  request: { params: idParams, body: jsonBody(creditInput) },
  responses: idempotentResponse(creditSchema, ['Entered durably.', 'Already entered with the same key.']),
})
const entries = createRoute({
  method: 'get',
  path: '/accounts/{id}/entries',
  summary: 'List the ledger entries of an account with running balances, newest first',
  request: { params: idParams, query: z.strictObject(pageFields) },
  responses: listResponse(entrySchema, 'A page of entries.'),
})

function serializeEntry(entry: Movement): z.infer<typeof entrySchema> {
  return {
    id: String(entry.id),
    time: formatTime(entry.at),
    kind: entry.kind,
    amount: formatAmount(entry.amountNanos),
    balance: formatAmount(entry.balanceNanos),
    reason: entry.reason,
    source: entry.source,
    reference: entry.reference,
  }
}

export function creditRoutes({ ctx, by }: AdminContext): OpenAPIHono {
  const { db } = ctx
  const app = new OpenAPIHono()
  app.openapi(credit, async (c) => {
    const { amount: text, reason, kind, idempotency_key: idempotencyKey } = c.req.valid('json')
    const { id: account } = await requireAccount(db, c.req.valid('param').id)
    const amount = parseAmount(text, 'amount')
    if (amount === 0n)
      throw apiError('invalid_request', { param: 'amount', message: 'Invalid `amount`: must not be 0.' })
    const receipt = await ctx.credit({ account, amount, reason, source: kind, idempotencyKey })
    const body = {
      id: receipt.id,
      account,
      amount: formatAmount(receipt.amount),
      balance: formatAmount(receipt.balance),
      reason,
      kind,
      idempotency_key: idempotencyKey,
    }
    if (!receipt.isNew) return c.json(body, 200)
    await db.write(
      auditStatement(by, 'account.credit', account, { amount: text, kind, reason, credit: receipt.id }),
    )
    return c.json(body, 201)
  })
  app.openapi(entries, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const { id } = await requireAccount(db, c.req.valid('param').id)
    const page = { limit, cursor: decodeCursor(cursor, /^\d+\.-?\d+$/) }
    const { data, next } = await listMovements(db, id, page)
    return c.json({ data: data.map(serializeEntry), next: encodeCursor(next) }, 200)
  })
  return app
}
