/**
 * Refunds of requests, in full or in part. An operator may refund a request several times, but never more in
 * total than it cost. Each refund is a credit of its own; the charge stays unchanged.
 */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, type Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../../db/store-error.ts'
import { apiError, notFound } from '../../errors.ts'
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
  const common = { creditId: id, account: request.account_id, costNanos: request.cost_nanos }
  const findRepeated = async (): Promise<Refund | null> => {
    const before = await creditOrderById(db, id)
    if (before === undefined) return null
    if (order.amountNanos === null || order.amountNanos === before.amountNanos) {
      return { ...common, amountNanos: before.amountNanos, isNew: false }
    }
    throw apiError('conflict', {
      param: 'idempotency_key',
      message: 'This `idempotency_key` was already used with a different amount.',
    })
  }
  const existing = await findRepeated()
  if (existing) return existing
  const remaining = request.cost_nanos - (await refundedNanos(db, requestId))
  const amountNanos = order.amountNanos ?? remaining
  if (order.amountNanos !== null && amountNanos <= 0n) {
    throw apiError('invalid_request', { param: 'amount', message: 'amount must be greater than 0.' })
  }
  if (amountNanos > remaining || amountNanos <= 0n) {
    // A concurrent order of the same refund may have taken the rest.
    const existing = await findRepeated()
    if (existing) return existing
    throw exceedsRemaining(remaining)
  }
  const { account } = common
  try {
    await db.write(
      requireCovered(requestId, amountNanos),
      insertCreditOrder({ id, account, amountNanos, source: 'refund', reason }, at),
      auditStatement(by, 'request.refund', requestId, { account, amount: formatAmount(amountNanos), reason }),
    )
  } catch (error) {
    const existing =
      isUniqueViolation(error, 'credit_orders.id') || isExpectationFailureOf(error, 0)
        ? await findRepeated()
        : null
    if (existing) return existing
    if (isExpectationFailureOf(error, 0))
      throw exceedsRemaining(request.cost_nanos - (await refundedNanos(db, requestId)))
    throw error
  }
  return { ...common, amountNanos, isNew: true }
}

function exceedsRemaining(remaining: bigint) {
  const message = `At most ${formatAmount(remaining)} of this request can be refunded.`
  return apiError('conflict', { param: 'amount', message })
}
