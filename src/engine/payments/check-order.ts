/**
 * Asks the provider about one order, and acts on what it confirms. The page, the poller, notices and operators all use it;
 * a read without a response that can be verified concludes nothing.
 */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges } from '../../db/db.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { apiError, notFound } from '../../errors.ts'
import { errorMessage } from '../../lib/error-message.ts'
import {
  openStates,
  orderById,
  unpaidStates,
  updateOrder,
  type Order,
} from '../../payments/payment-orders.ts'
import { ProviderError, type OrderReading, type PaymentMethod } from '../../payments/payment-method.ts'
import { releaseBonus } from '../../payments/recharge-bonuses.ts'
import { lastCheckOf, nextCheckOf, processingForMs, retryCheckAt } from './check-schedule.ts'
import { methodOf, providerOrderOf, type PaymentDeps } from './payment-deps.ts'
import { settleOrder, type SettleOutcome } from './settle-order.ts'

/** What a check found out. `unread`: the provider gave no response that can be verified. */
export type CheckOutcome = SettleOutcome | 'unpaid' | 'processing' | 'closed' | 'unread'

/** Asks the provider about an order. Throws 409 if its method is no longer configured, and if the store is unavailable. */
export async function checkOrder(deps: PaymentDeps, order: Order, by: string): Promise<CheckOutcome> {
  const method = methodOf(deps, order)
  try {
    const reading = await method.read(providerOrderOf(deps, order))
    return await apply(deps, method, { order, reading, by })
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    deps.log.warn(
      { order: order.id, method: order.method, problem: error.message },
      'order could not be read',
    )
    await retryUnread(deps, order)
    return 'unread'
  }
}

/** Long after its end, an order whose provider does not respond is left to its notice and the daily comparison. */
async function retryUnread(deps: PaymentDeps, order: Order): Promise<void> {
  if (deps.now() < order.expiresAt + processingForMs) return scheduleRetry(deps, order)
  if (openStates.includes(order.state)) await end(deps, order, 'expired')
  else await schedule(deps, order, null)
}

interface Read {
  readonly order: Order
  readonly reading: OrderReading
  readonly by: string
}

async function apply(deps: PaymentDeps, method: PaymentMethod, read: Read): Promise<CheckOutcome> {
  const { order, reading, by } = read
  const now = deps.now()
  switch (reading.state) {
    case 'paid': {
      const outcome = await settleOrder(deps, { method: order.method, facts: reading.payment, by })
      // What differs is listed for an operator, and asking more often changes nothing.
      if (outcome === 'mismatch' || outcome === 'surplus' || outcome === 'foreign')
        await schedule(deps, order, lastCheckOf(order, now))
      return outcome
    }
    case 'processing': {
      const isLate = now > order.createdAt + processingForMs
      await schedule(deps, order, isLate ? null : Math.max(nextCheckOf(order, now), now + 60_000))
      return 'processing'
    }
    case 'closed':
      if (openStates.includes(order.state)) await end(deps, order, 'expired')
      else await schedule(deps, order, lastCheckOf(order, now))
      return 'closed'
    case 'unpaid':
      if (!openStates.includes(order.state)) {
        await schedule(deps, order, lastCheckOf(order, now))
        return 'unpaid'
      }
      if (now >= order.expiresAt) return endUnpaid(deps, method, { order, by, state: 'expired' })
      await schedule(deps, order, nextCheckOf(order, now))
      return 'unpaid'
  }
}

interface OrderEnd {
  readonly order: Order
  readonly by: string
  readonly state: 'expired' | 'canceled'
}

/**
 * Ends an order that was just read as unpaid: closes it at the provider, and reads it again if the payer was faster. A
 * payment that comes later all the same is credited.
 */
async function endUnpaid(deps: PaymentDeps, method: PaymentMethod, ending: OrderEnd): Promise<CheckOutcome> {
  const { order, by, state } = ending
  const asked = providerOrderOf(deps, order)
  const closed = await method.close(asked)
  if (closed === 'paid') {
    const reading = await method.read(asked)
    if (reading.state === 'paid')
      return settleOrder(deps, { method: order.method, facts: reading.payment, by })
    await schedule(deps, order, retryCheckAt(order.checks, deps.now()))
    return 'processing'
  }
  await end(deps, order, state)
  return 'closed'
}

/**
 * Cancels an unpaid order, without its provider if the method is no longer configured. Throws 409 if it is paid, 503 if the
 * provider cannot be asked.
 */
export async function cancelOrder(deps: PaymentDeps, id: string, by: string): Promise<Order> {
  const order = await requireOrder(deps, id)
  if (order.state === 'canceled') return order
  if (!openStates.includes(order.state)) throw notCancelable(order)
  try {
    const outcome = await endOrRead(deps, order, by)
    if (outcome === 'closed') await deps.db.write(auditStatement(by, 'payment-order.cancel', id))
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    throw unavailable(id, errorMessage(error))
  }
  const after = await requireOrder(deps, id)
  if (openStates.includes(after.state) || after.state === 'paid') throw notCancelable(after)
  return after
}

async function endOrRead(deps: PaymentDeps, order: Order, by: string): Promise<CheckOutcome> {
  const method = deps.methods.get(order.method)
  if (method === undefined) {
    await end(deps, order, 'canceled')
    return 'closed'
  }
  const reading = await method.read(providerOrderOf(deps, order))
  if (reading.state === 'unpaid') return endUnpaid(deps, method, { order, by, state: 'canceled' })
  return apply(deps, method, { order, reading, by })
}

/** Throws 404. */
export async function requireOrder({ db }: Pick<PaymentDeps, 'db'>, id: string): Promise<Order> {
  const order = await orderById(db, id)
  if (order === undefined) throw notFound('Order')
  return order
}

/** 503: the order is kept, and the same call can be repeated. */
export function unavailable(order: string, problem: string) {
  const message = `The payment provider cannot be reached: ${problem} Order ${order} is kept; repeat the call.`
  return apiError('payment_unavailable', { message, param: 'method', retryAfterMs: 5000 })
}

function notCancelable({ state }: Order) {
  const message = state === 'pending' ? 'The payment is being processed.' : `The order is ${state}.`
  return apiError('conflict', { message })
}

async function schedule({ db, now }: PaymentDeps, order: Order, nextCheckAt: number | null): Promise<void> {
  const patch = { nextCheckAt, checks: order.checks + 1 }
  await db.write(updateOrder(order.id, unpaidStates, patch, now()))
}

/** After a check that found nothing out: the next one comes later, so that others have their turn. */
export async function scheduleRetry(deps: PaymentDeps, order: Order): Promise<void> {
  await schedule(deps, order, retryCheckAt(order.checks, deps.now()))
}

async function end({ db, now }: PaymentDeps, order: Order, state: 'expired' | 'canceled'): Promise<void> {
  const at = now()
  const patch = { state, nextCheckAt: lastCheckOf({ expiresAt: Math.max(order.expiresAt, at) }, at) }
  try {
    await db.write(expectChanges(updateOrder(order.id, openStates, patch, at), 1), ...releaseBonus(order))
  } catch (error) {
    // Settled or ended in the meantime.
    if (!isExpectationFailure(error)) throw error
  }
}
