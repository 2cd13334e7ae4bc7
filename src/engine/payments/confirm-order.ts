/** Bank transfers: an operator enters what arrived, and above an amount a second one confirms it. */
import { createHash } from 'node:crypto'
import { accountById } from '../../accounts/accounts.ts'
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, writeIfFound } from '../../db/db.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { apiError, invalidField, type ApiError } from '../../errors.ts'
import { startOfDate } from '../../ledger/periods.ts'
import { formatMinor, parseMinor } from '../../lib/currency.ts'
import { creditOf, feeOf } from '../../payments/amounts.ts'
import { insertDifference, listedDifference, surplusKey } from '../../payments/differences.ts'
import { unpaidStates, updateOrder, type Order } from '../../payments/payment-orders.ts'
import { paymentByTransaction } from '../../payments/payments.ts'
import { releaseBonus } from '../../payments/recharge-bonuses.ts'
import { balanceFull } from '../credits.ts'
import { hasRoom } from './balance-room.ts'
import { requireOrder } from './check-order.ts'
import { methodOf, type PaymentDeps } from './payment-deps.ts'
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
 * Settles an order by bank transfer. Throws 400 for another method and for more than the balance has room for; 409 if the
 * method is no longer configured, if the amount differs and `ifDifferent` does not say what to do, if the transaction was
 * entered before, or if the second operator is the first. A second transfer for a paid order is listed as a difference.
 */
export async function confirmOrder(
  deps: PaymentDeps,
  id: string,
  transfer: ReceivedTransfer,
  by: string,
): Promise<Order> {
  const order = await requireOrder(deps, id)
  if (order.method !== 'bank') throw invalidField('id', 'is not an order by bank transfer')
  methodOf(deps, order)
  const entry = { transfer, received: parseMinor(transfer.received, order.currency, 'received'), by }
  const taken = await takenTransaction(deps, order, transfer.transaction)
  if (taken !== undefined) throw taken
  if (order.state !== 'paid') {
    const differs = entry.received !== order.amountMinor
    if (differs && transfer.ifDifferent === null) throw differentAmount(order, entry.received)
    if (differs && transfer.ifDifferent === 'return') return returnTransfer(deps, order, entry)
    await requireCreditable(deps, order, entry)
    if (await waitsForSecond(deps, order, entry)) return requireOrder(deps, id)
  }
  return settleTransfer(deps, order, entry)
}

interface Entry {
  readonly transfer: ReceivedTransfer
  /** In minor units. */
  readonly received: bigint
  readonly by: string
}

async function settleTransfer(deps: PaymentDeps, order: Order, entry: Entry): Promise<Order> {
  const { transfer, received, by } = entry
  const differs = received !== order.amountMinor
  const { payer, transaction } = transfer
  const outcome = await settleOrder(deps, {
    method: 'bank',
    facts: {
      order: order.id,
      merchant: order.merchant,
      currency: order.currency,
      amountMinor: received,
      transaction,
      paidAt: await arrivedAt(deps, order, transfer),
      payer: payer === null ? null : createHash('sha256').update(payer).digest('hex'),
      savedCard: null,
    },
    by,
    ...(differs ? { credited: creditedFor(deps, order, received) } : {}),
  })
  const after = await requireOrder(deps, order.id)
  if ((outcome === 'settled' || outcome === 'known') && after.state === 'paid') return after
  throw (await takenTransaction(deps, order, transaction)) ?? alreadyPaid()
}

async function arrivedAt({ db }: PaymentDeps, order: Order, { date }: ReceivedTransfer): Promise<number> {
  const account = await accountById(db, order.accountId)
  return startOfDate(account?.timezone ?? 'UTC', date)
}

/** What arrived is credited in place of what was ordered. */
function creditedFor({ config }: PaymentDeps, order: Order, received: bigint) {
  const feeMinor = feeOf(received, config.paymentFees.get('bank'), order.currency)
  return { creditNanos: creditOf(received - feeMinor, order.ratePpm, order.currency), feeMinor }
}

async function requireCreditable(deps: PaymentDeps, order: Order, { received }: Entry): Promise<void> {
  const { creditNanos, feeMinor } = creditedFor(deps, order, received)
  if (feeMinor >= received) throw invalidField('received', 'must be more than the fee')
  const nanos = received === order.amountMinor ? order.creditNanos + order.bonusNanos : creditNanos
  if (!(await hasRoom(deps, order.accountId, nanos))) throw balanceFull('received')
}

const alreadyPaid = (): ApiError => apiError('conflict', { message: 'This order is already paid.' })

/** Why a transaction cannot be entered: each belongs to one order, or is listed as a difference. */
async function takenTransaction(
  { db }: PaymentDeps,
  { id, merchant }: Order,
  transactionId: string,
): Promise<ApiError | undefined> {
  const transaction = { method: 'bank', merchant, transactionId } as const
  const known = await paymentByTransaction(db, transaction)
  if (known?.orderId === id) return alreadyPaid()
  const param = 'transaction'
  if (known !== undefined) {
    const message = `This transaction was already entered for order ${known.orderId}.`
    return apiError('conflict', { param, message })
  }
  const listed = await listedDifference(db, surplusKey(transaction))
  if (listed === undefined) return undefined
  const message = `This transaction was already listed as difference ${listed.id}.`
  return apiError('conflict', { param, message })
}

function differentAmount(order: Order, received: bigint) {
  const { currency, amountMinor } = order
  const message = `${formatMinor(received, currency)} ${currency} arrived, ${formatMinor(amountMinor, currency)} was ordered. Set if_different to "credit" or "return".`
  return apiError('conflict', { param: 'received', message })
}

/** The money goes back by a transfer that the operator makes: nothing is credited, and its transaction is used. */
async function returnTransfer(
  deps: PaymentDeps,
  order: Order,
  { transfer, received, by }: Entry,
): Promise<Order> {
  const at = deps.now()
  const { transaction, note } = transfer
  const { id, merchant, currency, accountId } = order
  const returned = {
    kind: 'surplus',
    method: 'bank',
    merchant,
    reference: transaction,
    orderId: id,
    accountId,
    currency,
    amountMinor: received,
    expectedMinor: null,
    detail: '',
    at: await arrivedAt(deps, order, transfer),
  } as const
  try {
    await deps.db.write(
      expectChanges(updateOrder(id, unpaidStates, { state: 'canceled', nextCheckAt: null }, at), 1),
      expectChanges(insertDifference(returned, { by, action: 'return', reason: note }, at), 1),
      ...releaseBonus(order),
      auditStatement(by, 'payment-order.return', id, { received: transfer.received, transaction, note }),
    )
  } catch (error) {
    if (!isExpectationFailure(error)) throw error
    throw (await takenTransaction(deps, order, transaction)) ?? alreadyPaid()
  }
  return requireOrder(deps, id)
}

interface FirstEntry extends Pick<ReceivedTransfer, 'received' | 'transaction'> {
  readonly by: string
}

/**
 * Whether this is the first of two entries, which is kept; the same operator can correct it. Throws 409 if the second one
 * differs, or comes from the same operator.
 */
async function waitsForSecond(
  { db, config, now }: PaymentDeps,
  order: Order,
  { transfer: { received: text, transaction }, received, by }: Entry,
): Promise<boolean> {
  const limit = config.bankSecondOperatorAbove
  if (limit === null || received <= parseMinor(limit, order.currency)) return false
  const first = order.confirmation === null ? undefined : (JSON.parse(order.confirmation) as FirstEntry)
  const differing = first && differingField(first, { received, transaction, currency: order.currency })
  if (first === undefined || (first.by === by && differing !== undefined)) {
    const entry = { received: text, transaction }
    const update = updateOrder(
      order.id,
      unpaidStates,
      { confirmation: JSON.stringify({ ...entry, by }) },
      now(),
    )
    if (!(await writeIfFound(db, update, auditStatement(by, 'payment-order.enter', order.id, entry))))
      throw alreadyPaid()
    return true
  }
  if (first.by === by || by === scriptActor)
    throw apiError('conflict', { message: `Another operator than ${first.by} must confirm this amount.` })
  if (differing === undefined) return false
  const message = `The first operator entered ${first.received} with transaction ${first.transaction}.`
  throw apiError('conflict', { param: differing, message })
}

function differingField(
  first: FirstEntry,
  {
    received,
    transaction,
    currency,
  }: { readonly received: bigint; readonly transaction: string; readonly currency: string },
): 'received' | 'transaction' | undefined {
  if (parseMinor(first.received, currency) !== received) return 'received'
  return first.transaction === transaction ? undefined : 'transaction'
}
