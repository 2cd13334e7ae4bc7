/**
 * Refunds of requests: money of one request that is given back, all of it or a part, as often as an operator likes and
 * never more in sum than the request cost. Each is a credit of its own; the charge stays as it was.
 */
import { auditRow } from '../../db/audit.ts'
import { expecting, type Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import { isTaken, isUnmet } from '../../db/store-error.ts'
import { refuse } from '../../errors.ts'
import { decimalOf } from '../../lib/money.ts'
import { creditOrderById, creditOrderRow } from './credit-orders.ts'

export interface RefundOrder {
  readonly requestId: string
  /** Nanos; null: all that has not been given back. */
  readonly amountNanos: bigint | null
  readonly reason: string
  /** The same key gives back once. */
  readonly idempotencyKey: string
  readonly at: number
  readonly by: string
}

export interface Refund {
  readonly creditId: string
  readonly account: string
  readonly amountNanos: bigint
  /** Of the request. */
  readonly costNanos: bigint
  /** False when the same key had ordered it before. */
  readonly isNew: boolean
}

/** The refunds of a request: their ids begin alike. */
function orderIdsOf(requestId: string): readonly [from: string, to: string] {
  return [`refund:${requestId}:`, `refund:${requestId};`]
}

/** What a request has been given back, ordered or entered. */
export async function refundedNanos(db: Db, requestId: string): Promise<bigint> {
  const [from, to] = orderIdsOf(requestId)
  const row = await db.first(
    sql
      .selectFrom('credit_orders')
      .select((build) => build.fn.sum<bigint | null>('amount_nanos').as('sum_nanos'))
      .where('id', '>=', from)
      .where('id', '<', to),
  )
  return row?.sum_nanos ?? 0n
}

/** Holds, inside a batch, only while the request's cost covers what was given back and this as well. */
function coverage(requestId: string, amount: bigint) {
  const [from, to] = orderIdsOf(requestId)
  return expecting(
    {
      sql: `select request_id from requests where request_id = ? and cost_nanos >= ? +
        (select coalesce(sum(amount_nanos), 0) from credit_orders where id >= ? and id < ?)`,
      parameters: [requestId, amount, from, to],
    },
    1,
  )
}

/**
 * Orders a refund, whose credit is then to be entered. Refuses with 404 for an unknown request, 400 for an amount that
 * is not above 0, 409 for more than is left of its cost or another amount by the same key.
 */
export async function orderRefund(db: Db, order: RefundOrder): Promise<Refund> {
  const { requestId, reason, at, by } = order
  const id = `refund:${requestId}:${order.idempotencyKey}`
  const request = await db.first(
    sql.selectFrom('requests').select(['account_id', 'cost_nanos']).where('request_id', '=', requestId),
  )
  if (request === undefined) throw refuse('not_found', { message: 'There is no such request.' })
  const about = { creditId: id, account: request.account_id, costNanos: request.cost_nanos }
  const repeated = async (): Promise<Refund | null> => {
    const before = await creditOrderById(db, id)
    if (before === undefined) return null
    if (order.amountNanos === null || order.amountNanos === before.amountNanos) {
      return { ...about, amountNanos: before.amountNanos, isNew: false }
    }
    throw refuse('conflict', {
      param: 'idempotency_key',
      message: 'This idempotency_key was used for another amount.',
    })
  }
  const known = await repeated()
  if (known) return known
  const left = request.cost_nanos - (await refundedNanos(db, requestId))
  const amountNanos = order.amountNanos ?? left
  if (order.amountNanos !== null && amountNanos <= 0n) {
    throw refuse('invalid_request', { param: 'amount', message: 'amount has to be above 0.' })
  }
  if (amountNanos > left || amountNanos <= 0n) {
    // Perhaps it is the same refund, asked for twice at once, that has taken what was left.
    const other = await repeated()
    if (other) return other
    throw moreThan(left)
  }
  const { account } = about
  try {
    await db.write(
      coverage(requestId, amountNanos),
      creditOrderRow({ id, account, amountNanos, source: 'refund', reason }, at),
      auditRow(by, 'request.refund', requestId, { account, amount: decimalOf(amountNanos), reason }),
    )
  } catch (error) {
    const other = isTaken(error, 'credit_orders.id') || isUnmet(error, 0) ? await repeated() : null
    if (other) return other
    if (isUnmet(error, 0)) throw moreThan(request.cost_nanos - (await refundedNanos(db, requestId)))
    throw error
  }
  return { ...about, amountNanos, isNew: true }
}

function moreThan(left: bigint) {
  const message = `No more than ${decimalOf(left)} of this request can be given back.`
  return refuse('conflict', { param: 'amount', message })
}
