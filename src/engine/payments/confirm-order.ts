/** Bank transfers: an operator enters what arrived, and above an amount a second one confirms it. */
import { createHash } from 'node:crypto'
import { accountById } from '../../accounts/accounts.ts'
import { auditStatement } from '../../db/audit.ts'
import { expectChanges } from '../../db/db.ts'
import { apiError, invalidField } from '../../errors.ts'
import { startOfDate } from '../../ledger/periods.ts'
import { formatMinor, parseMinor } from '../../lib/currency.ts'
import { creditOf, feeOf } from '../../payments/amounts.ts'
import { unpaidStates, updateOrder, type Order } from '../../payments/payment-orders.ts'
import { paymentByTransaction } from '../../payments/payments.ts'
import { requireOrder } from './check-order.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { settleOrder } from './settle-order.ts'

export interface ReceivedTransfer {
  /** In the order's currency. */
  readonly received: string
  /** The bank's serial number: unique per receiving account. */
  readonly transaction: string
  /** The day on which it arrived, such as `2026-11-21`; as a time, the beginning of this day for the account. */
  readonly date: string
  readonly payer: string | null
  readonly note: string | null
  /** If another amount arrived than was ordered. */
  readonly ifDifferent: 'credit' | 'return' | null
}

/** The actor of scripts, which cannot be the second person. */
const scriptActor = 'admin-api'

/**
 * Settles an order by bank transfer. Throws 400 for another method, 409 if the amount differs and `ifDifferent` does not say
 * what to do, if the transaction was entered before, or if the second operator is the first.
 */
export async function confirmOrder(
  deps: PaymentDeps,
  id: string,
  transfer: ReceivedTransfer,
  by: string,
): Promise<Order> {
  const order = await requireOrder(deps, id)
  if (order.method !== 'bank') throw invalidField('id', 'is not an order by bank transfer')
  const received = parseMinor(transfer.received, order.currency, 'received')
  await requireNewTransaction(deps, order, transfer.transaction)
  if (order.state === 'paid') throw apiError('conflict', { message: 'This order is already paid.' })
  const differs = received !== order.amountMinor
  if (differs && transfer.ifDifferent === null) throw differentAmount(order, received)
  if (differs && transfer.ifDifferent === 'return') return returnTransfer(deps, order, { transfer, by })
  if (await waitsForSecond(deps, order, { transfer, received, by })) return requireOrder(deps, id)
  const { merchant, currency } = order
  const account = await accountById(deps.db, order.accountId)
  const facts = {
    order: id,
    merchant,
    currency,
    amountMinor: received,
    transaction: transfer.transaction,
    paidAt: startOfDate(account?.timezone ?? 'UTC', transfer.date),
    payer: transfer.payer === null ? null : createHash('sha256').update(transfer.payer).digest('hex'),
    savedCard: null,
  }
  const fee = feeOf(received, deps.config.paymentFees.get('bank'), currency)
  if (fee >= received) throw invalidField('received', 'must be more than the fee')
  const creditNanos = creditOf(received - fee, order.ratePpm, currency)
  await settleOrder(deps, {
    method: 'bank',
    facts,
    by,
    ...(differs ? { credited: { creditNanos, feeMinor: fee } } : {}),
  })
  return requireOrder(deps, id)
}

async function requireNewTransaction(
  { db }: PaymentDeps,
  order: Order,
  transactionId: string,
): Promise<void> {
  const known = await paymentByTransaction(db, { method: 'bank', merchant: order.merchant, transactionId })
  if (known === undefined || known.orderId === order.id) return
  const message = `This transaction was already entered for order ${known.orderId}.`
  throw apiError('conflict', { param: 'transaction', message })
}

function differentAmount(order: Order, received: bigint) {
  const { currency, amountMinor } = order
  const message = `${formatMinor(received, currency)} ${currency} arrived, ${formatMinor(amountMinor, currency)} was ordered. Set if_different to "credit" or "return".`
  return apiError('conflict', { param: 'received', message })
}

interface Entry {
  readonly transfer: ReceivedTransfer
  readonly by: string
}

/** The money goes back by a transfer that the operator makes: nothing is credited. */
async function returnTransfer(deps: PaymentDeps, order: Order, { transfer, by }: Entry): Promise<Order> {
  const at = deps.now()
  const { received, transaction, note } = transfer
  await deps.db.write(
    expectChanges(updateOrder(order.id, unpaidStates, { state: 'canceled', nextCheckAt: null }, at), 1),
    auditStatement(by, 'payment-order.return', order.id, { received, transaction, note }),
  )
  return requireOrder(deps, order.id)
}

/** Whether this was the first of two entries, which is kept. Throws 409 if both differ, or come from the same operator. */
async function waitsForSecond(
  { db, config, now }: PaymentDeps,
  order: Order,
  { transfer, received, by }: Entry & { readonly received: bigint },
): Promise<boolean> {
  const limit = config.bankSecondOperatorAbove
  if (limit === null || received <= parseMinor(limit, order.currency)) return false
  const entry = { received: transfer.received, transaction: transfer.transaction }
  if (order.confirmation === null) {
    const confirmation = JSON.stringify({ ...entry, by })
    await db.write(
      expectChanges(updateOrder(order.id, unpaidStates, { confirmation }, now()), 1),
      auditStatement(by, 'payment-order.enter', order.id, entry),
    )
    return true
  }
  const first = JSON.parse(order.confirmation) as typeof entry & { readonly by: string }
  if (first.by === by || by === scriptActor)
    throw apiError('conflict', { message: `Another operator than ${first.by} must confirm this amount.` })
  if (first.received === entry.received && first.transaction === entry.transaction) return false
  const message = `The first operator entered ${first.received} with transaction ${first.transaction}.`
  throw apiError('conflict', { param: 'received', message })
}
