/** `/accounts/{id}/credits` and `/entries`: the money that comes in, and all that moved. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { auditRow } from '../../../db/audit.ts'
import { refuse } from '../../../errors.ts'
import { decimalOf, nanosOf } from '../../../lib/money.ts'
import { listMovements, type Movement } from '../../../usage/statement.ts'
import { knownAccount } from '../accounts/accounts.ts'
import type { Desk } from '../desk.ts'
import {
  bodyOf,
  enteredAnswer,
  idPath,
  listAnswer,
  money,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeOf,
} from '../schemas.ts'

const creditIn = z.strictObject({
  amount: money.meta({ description: 'Negative takes back, never below what is held.' }),
  reason: z.string().trim().min(1).max(500),
  kind: z.enum(['credit', 'payment', 'refund']).default('credit').meta({
    description: 'Where it comes from; the first payment may change the tier.',
  }),
  idempotency_key: z.string().min(1).max(200).meta({ description: 'The same key twice credits once.' }),
})
const creditOut = z
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
export const entryOut = z
  .object({
    id: z.string(),
    time,
    kind: z.string().meta({ description: '`charge` or `credit`.' }),
    amount: money.meta({ description: 'Negative is money that went.' }),
    balance: money.meta({ description: 'After this entry.' }),
    reason: z.string().nullable(),
    source: z.string().nullable(),
    reference: z.string().nullable().meta({ description: 'The request’s or the credit’s id.' }),
  })
  .openapi('Entry')

const credit = createRoute({
  method: 'post',
  path: '/accounts/{id}/credits',
  summary: 'Credit an account, or take back',
  request: { params: idPath, body: bodyOf(creditIn) },
  responses: enteredAnswer(creditOut, ['Entered, and durable.', 'Was entered before, by the same key.']),
})
const entries = createRoute({
  method: 'get',
  path: '/accounts/{id}/entries',
  summary: 'Every movement of an account’s money with the balance after it, newest first',
  request: { params: idPath, query: z.strictObject(pageFields) },
  responses: listAnswer(entryOut, 'A page of entries.'),
})

function entryView(entry: Movement): z.infer<typeof entryOut> {
  return {
    id: String(entry.id),
    time: timeOf(entry.at),
    kind: entry.kind,
    amount: decimalOf(entry.amountNanos),
    balance: decimalOf(entry.balanceNanos),
    reason: entry.reason,
    source: entry.source,
    reference: entry.reference,
  }
}

export function accountMoneyRoutes({ house, by }: Desk): OpenAPIHono {
  const { db } = house
  const app = new OpenAPIHono()
  app.openapi(credit, async (c) => {
    const { amount: text, reason, kind, idempotency_key: idempotencyKey } = c.req.valid('json')
    const { id: account } = await knownAccount(db, c.req.valid('param').id)
    const amount = nanosOf(text, 'amount')
    if (amount === 0n) throw refuse('invalid_request', { param: 'amount', message: 'amount may not be 0.' })
    const receipt = await house.credit({ account, amount, reason, source: kind, idempotencyKey })
    const body = {
      id: receipt.id,
      account,
      amount: decimalOf(receipt.amount),
      balance: decimalOf(receipt.balance),
      reason,
      kind,
      idempotency_key: idempotencyKey,
    }
    if (!receipt.isNew) return c.json(body, 200)
    await db.write(
      auditRow(by, 'account.credit', account, { credit: receipt.id, amount: text, reason, kind }),
    )
    return c.json(body, 201)
  })
  app.openapi(entries, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const { id } = await knownAccount(db, c.req.valid('param').id)
    const page = { limit, cursor: openedCursor(cursor, /^\d+\.-?\d+$/) }
    const { data, next } = await listMovements(db, id, page)
    return c.json({ data: data.map(entryView), next: sealedCursor(next) }, 200)
  })
  return app
}
