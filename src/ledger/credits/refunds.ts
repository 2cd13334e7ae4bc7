/**
 * Refunds of requests, in full or in part. An operator may refund a request several times, but never more in
 * total than it cost. Each refund is a credit of its own; the charge stays unchanged.
 */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, type Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../../db/store-error.ts'
import { apiError, ApiError, notFound } from '../../errors.ts'
import { formatAmount } from '../../lib/money.ts'
import { creditOrderById, insertCreditOrder } from './credit-orders.ts'

export interface RefundInput {
  readonly requestId: string
  /** Nanos. null: everything not refunded yet. */
  readonly amountNanos: bigint | null
  readonly reason: string
  /** A refund with the same key is entered once. */
  readonly idempotencyKey: string
  readonly at: number
  readonly by: string
}

export interface Refund {
  readonly creditId: string
  readonly account: string
  readonly amountNanos: bigint
  /** The cost of the request. */
  readonly costNanos: bigint
  /** False if a refund with the same key was ordered before. */
  readonly isNew: boolean
}

/** The range of order ids of a request's refunds, which share a prefix. */
function orderIdRange(requestId: string): readonly [from: string, to: string] {
  return [`refund:${requestId}:`, `refund:${requestId};`]
}

/** How much of a request has been refunded, ordered or entered. */
export async function refundedNanos(db: Db, requestId: string): Promise<bigint> {
  const [from, to] = orderIdRange(requestId)
  const row = await db.first(
    sql
      .selectFrom('credit_orders')
      .select((build) => build.fn.sum<bigint | null>('amount_nanos').as('sum_nanos'))
      .where('id', '>=', from)
      .where('id', '<', to),
  )
  return row?.sum_nanos ?? 0n
}

/** Fails the batch unless the request's cost covers all its refunds, including this one. */
function requireCovered(requestId: string, amount: bigint) {
  const [from, to] = orderIdRange(requestId)
  return expectChanges(
    {
      sql: `select request_id from requests where request_id = ? and cost_nanos >= ? +
        (select coalesce(sum(amount_nanos), 0) from credit_orders where id >= ? and id < ?)`,
      parameters: [requestId, amount, from, to],
    },
    1,
  )
}

/**
 * Orders a refund; the caller then enters its credit. Throws 404 for an unknown request, 400 if the amount is
 * not greater than 0, and 409 if it exceeds what is left of the cost or the key was used for another amount.
 */
export async function orderRefund(db: Db, order: RefundInput): Promise<Refund> {
  const { requestId, reason, at, by } = order
  const id = `refund:${requestId}:${order.idempotencyKey}`
  const request = await db.first(
    sql.selectFrom('requests').select(['account_id', 'cost_nanos']).where('request_id', '=', requestId),
  )
  if (request === undefined) throw notFound('Request')
  const { account_id: account, cost_nanos: costNanos } = request
  const common = { creditId: id, account, costNanos }
  const repeated = await repeatedRefund(db, id, order)
  if (repeated !== null) return { ...common, ...repeated }
  const remaining = costNanos - (await refundedNanos(db, requestId))
  const amountNanos = order.amountNanos ?? remaining
  if (order.amountNanos !== null && amountNanos <= 0n) {
    throw apiError('invalid_request', { param: 'amount', message: 'amount must be greater than 0.' })
  }
  try {
    if (amountNanos > remaining || amountNanos <= 0n) throw exceedsRemaining(remaining)
    await db.write(
      requireCovered(requestId, amountNanos),
      insertCreditOrder({ id, account, amountNanos, source: 'refund', reason }, at),
      auditStatement(by, 'request.refund', requestId, { account, amount: formatAmount(amountNanos), reason }),
    )
  } catch (error) {
    const isUncovered = isExpectationFailureOf(error, 0)
    if (!isUncovered && !(error instanceof ApiError) && !isUniqueViolation(error, 'credit_orders.id'))
      throw error
    // A concurrent order of the same refund may have been faster.
    const faster = await repeatedRefund(db, id, order)
    if (faster !== null) return { ...common, ...faster }
    throw isUncovered ? exceedsRemaining(costNanos - (await refundedNanos(db, requestId))) : error
  }
  return { ...common, amountNanos, isNew: true }
}

/** What was ordered with the same key before; `null`: nothing. Throws 409 if it was another amount. */
async function repeatedRefund(
  db: Db,
  id: string,
  order: RefundInput,
): Promise<Pick<Refund, 'amountNanos' | 'isNew'> | null> {
  const before = await creditOrderById(db, id)
  if (before === undefined) return null
  const { amountNanos } = before
  if (order.amountNanos === null || order.amountNanos === amountNanos) return { amountNanos, isNew: false }
  const message = 'This `idempotency_key` was already used with a different amount.'
  throw apiError('conflict', { param: 'idempotency_key', message })
}

function exceedsRemaining(remaining: bigint) {
  const message = `At most ${formatAmount(remaining)} of this request can be refunded.`
  return apiError('conflict', { param: 'amount', message })
}
