/** A bank's list and the orders that its rows seem to pay, from what is stored. Nothing is written by it. */
import type { Db } from '../db/db.ts'
import { sql, type OrderState } from '../db/schema/schema.ts'
import { matchBankRows, parseBankRows, type AwaitedTransfer, type BankMatch } from './bank-rows.ts'
import { unpaidStates } from './payment-orders.ts'

/**
 * `entered`: its serial number belongs to a payment, or to a transfer that was returned or paid an order twice.
 * `awaits_second`: one operator has entered it. `different_amount`: than ordered. `other_reference`: of an order that is
 * paid, or not of this installation.
 */
export const transferStatuses = [
  'matched',
  'different_amount',
  'awaits_second',
  'entered',
  'other_reference',
  'unmatched',
] as const

export interface ListedTransfer extends Pick<BankMatch, 'row' | 'by'> {
  readonly status: (typeof transferStatuses)[number]
  readonly order: string | null
  readonly account: string | null
  readonly orderState: OrderState | null
  /** What was ordered, in minor units. */
  readonly expectedMinor: bigint | null
  /** `2026-11-28`; null: the list has none, or one that can be read in two ways. */
  readonly day: string | null
}

export interface BankList {
  readonly transfers: readonly ListedTransfer[]
  /** Lines whose amount cannot be read. */
  readonly unreadLines: readonly number[]
}

/** The receiving account. */
export interface BankAccount {
  readonly merchant: string
  readonly currency: string
}

interface BankOrder extends AwaitedTransfer {
  readonly account: string
  readonly state: OrderState
  readonly isEntered: boolean
}

/** Throws 400 if the text cannot be read as a list. */
export async function matchBankList(db: Db, csv: string, bank: BankAccount): Promise<BankList> {
  const { rows, unreadLines } = parseBankRows(csv, bank.currency)
  const [awaited, entered] = await Promise.all([
    awaitedTransfers(db, bank),
    ordersByTransaction(
      db,
      bank,
      rows.flatMap(({ transaction }) => transaction ?? []),
    ),
  ])
  const orders = new Map(awaited.map((order) => [order.id, order]))
  const transfers = matchBankRows(rows, awaited).map((match): ListedTransfer => {
    const { row, by } = match
    const day = dayOf(row.date ?? '')
    const paid = entered.get(row.transaction ?? '')
    if (paid !== undefined) return { row, by: null, day, status: 'entered', ...paid }
    const order = orders.get(match.order ?? '')
    return {
      row,
      by,
      day,
      status: statusOf(match, order),
      order: match.order,
      account: order?.account ?? null,
      orderState: order?.state ?? null,
      expectedMinor: order?.amountMinor ?? null,
    }
  })
  return { transfers, unreadLines }
}

function statusOf(match: BankMatch, order: BankOrder | undefined): ListedTransfer['status'] {
  if (order === undefined) return match.hasOtherReference ? 'other_reference' : 'unmatched'
  if (order.isEntered) return 'awaits_second'
  return match.isAmountEqual ? 'matched' : 'different_amount'
}

/** Unpaid orders by bank transfer, with the names from which their accounts have paid. */
async function awaitedTransfers(db: Db, { merchant, currency }: BankAccount): Promise<BankOrder[]> {
  const isAwaited = sql
    .selectFrom('payment_orders')
    .where('payment_orders.method', '=', 'bank')
    .where('payment_orders.merchant', '=', merchant)
    .where('payment_orders.currency', '=', currency)
    .where('state', 'in', [...unpaidStates])
  const [orders, payers] = await Promise.all([
    db.report(isAwaited.select(['id', 'account_id', 'amount_minor', 'state', 'confirmation'])),
    db.report(
      isAwaited
        .innerJoin('payments', 'payments.account_id', 'payment_orders.account_id')
        .select(['payments.account_id', 'payments.payer'])
        .distinct()
        .where('payments.method', '=', 'bank')
        .where('payments.payer', 'is not', null),
    ),
  ])
  const payersOf = Map.groupBy(payers, ({ account_id: account }) => account)
  return orders.map((order) => ({
    id: order.id,
    account: order.account_id,
    amountMinor: order.amount_minor,
    state: order.state,
    isEntered: order.confirmation !== null,
    payers: (payersOf.get(order.account_id) ?? []).flatMap(({ payer }) => payer ?? []),
  }))
}

type EnteredOrder = Pick<ListedTransfer, 'order' | 'account' | 'orderState' | 'expectedMinor'>

/** The orders for which serial numbers of a list were entered. */
async function ordersByTransaction(
  db: Db,
  { merchant }: BankAccount,
  transactions: readonly string[],
): Promise<ReadonlyMap<string, EnteredOrder>> {
  if (transactions.length === 0) return new Map()
  const listed = [...new Set(transactions)]
  const orders = sql
    .selectFrom('payment_orders')
    .select([
      'payment_orders.id as order_id',
      'payment_orders.account_id',
      'payment_orders.amount_minor',
      'payment_orders.state',
    ])
  const paid = orders
    .innerJoin('payments', 'payments.order_id', 'payment_orders.id')
    .select('transaction_id')
    .where('payments.method', '=', 'bank')
    .where('payments.merchant', '=', merchant)
    .where('transaction_id', 'in', listed)
  const surplus = orders
    .innerJoin('payment_differences', 'payment_differences.order_id', 'payment_orders.id')
    .select('payment_differences.reference as transaction_id')
    .where('payment_differences.method', '=', 'bank')
    .where('payment_differences.merchant', '=', merchant)
    .where('kind', '=', 'surplus')
    .where('payment_differences.reference', 'in', listed)
  const rows = [...(await db.report(surplus)), ...(await db.report(paid))]
  return new Map(
    rows.map((row): [string, EnteredOrder] => [
      row.transaction_id,
      {
        order: row.order_id,
        account: row.account_id,
        orderState: row.state,
        expectedMinor: row.amount_minor,
      },
    ]),
  )
}

/** `20261128101500`, `2026/11/28 10:15`, `2026年11月28日`, `28.11.2026`. What countries read differently is no date. */
function dayOf(text: string): string | null {
  const [, year, month, day] =
    /^(\d{4})(\d{2})(\d{2})/.exec(text) ?? /^(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})/.exec(text) ?? []
  const [, lastDay, lastMonth, lastYear] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})/.exec(text) ?? []
  const parts = [year ?? lastYear ?? '', month ?? lastMonth ?? '', day ?? lastDay ?? '']
  const date = parts.map((part) => part.padStart(2, '0')).join('-')
  return Number.isNaN(Date.parse(`${date}T00:00:00Z`)) ? null : date
}
