/**
 * The law of payments, checked over the books of the providers and the rows of the relays: what was credited and what is
 * listed together are the genuine payments, each once; what was taken back is what the providers have refunded.
 */
import assert from 'node:assert/strict'
import type { Db } from '../../src/db/db.ts'
import { fieldsOf, type RowFields } from '../../src/db/row-fields.ts'
import {
  sql,
  type PaymentDifferencesTable,
  type PaymentRefundsTable,
  type PaymentsTable,
} from '../../src/db/schema/schema.ts'
import type { GenuinePayment, ScriptedProvider } from '../support/payments/scripted-provider.ts'
import type { PaymentTraffic } from './payment-traffic.ts'

type Payment = RowFields<PaymentsTable>
type Refund = RowFields<PaymentRefundsTable>
type Difference = RowFields<PaymentDifferencesTable>

/** All orders are in the platform's currency, without fees. */
const nanosPerMinor = 10_000_000n
/** Of genuine payments that were not credited. */
const listedKinds = new Set(['amount', 'surplus', 'unknown_order', 'paid_there_only'])

interface OrderRow {
  readonly id: string
  readonly method: string
  readonly state: string
  readonly amount_minor: bigint
  readonly next_check_at: number | null
}

export interface PaymentRows {
  readonly orders: readonly OrderRow[]
  readonly payments: readonly Payment[]
  readonly refunds: readonly Refund[]
  readonly differences: readonly Difference[]
  /** In nanos, by account. */
  readonly balances: ReadonlyMap<string, bigint>
}

export async function readPaymentRows(db: Db): Promise<PaymentRows> {
  const orders = await db.all(
    sql.selectFrom('payment_orders').select(['id', 'method', 'state', 'amount_minor', 'next_check_at']),
  )
  const payments = (await db.all(sql.selectFrom('payments').selectAll())).map(fieldsOf)
  const refunds = (await db.all(sql.selectFrom('payment_refunds').selectAll())).map(fieldsOf)
  const differences = (await db.all(sql.selectFrom('payment_differences').selectAll())).map(fieldsOf)
  const owners = await db.all(sql.selectFrom('owners').select(['id', 'balance_nanos']))
  const balances = new Map(owners.map(({ id, balance_nanos: nanos }) => [id.replace(/^a:/, ''), nanos]))
  return { orders, payments, refunds, differences, balances }
}

export interface LawReport {
  readonly credited: number
  readonly listed: number
  readonly refunded: number
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n)

export function assertPaymentLaw(
  rows: PaymentRows,
  providers: readonly ScriptedProvider[],
  traffic: PaymentTraffic,
): LawReport {
  const reports = providers.map((provider) => assertProviderLaw(rows, provider, traffic))
  const total = (count: (report: LawReport) => number): number =>
    reports.reduce((sum, report) => sum + count(report), 0)
  assertBalances(rows, traffic)
  assert.deepEqual(traffic.acceptedForgeries, [])
  return {
    credited: total(({ credited }) => credited),
    listed: total(({ listed }) => listed),
    refunded: total(({ refunded }) => refunded),
  }
}

function assertProviderLaw(
  rows: PaymentRows,
  { method, payments: genuine }: ScriptedProvider,
  traffic: PaymentTraffic,
): LawReport {
  const credited = new Map(
    rows.payments.filter((row) => row.method === method).map((row) => [row.transactionId, row]),
  )
  const listed = new Map(
    rows.differences
      .filter((row) => row.method === method && row.state === 'open' && listedKinds.has(row.kind))
      .map((row) => [row.reference, row]),
  )
  for (const payment of genuine) {
    const row = credited.get(payment.transaction)
    if (row === undefined) assertListed(rows, method, payment, { listed, credited, traffic })
    else assertCredited(method, payment, { row, listed })
  }
  const transactions = new Set(genuine.map(({ transaction }) => transaction))
  for (const transaction of credited.keys())
    assert.ok(transactions.has(transaction), `${method}: ${transaction} was credited, and nobody paid it`)
  const listedOfGenuine = [...listed].filter(([transaction]) => transactions.has(transaction))
  assert.equal(
    sumOf([...credited.values()].map((row) => row.amountMinor)) +
      sumOf(listedOfGenuine.map(([, row]) => row.amountMinor ?? 0n)),
    sumOf(genuine.map((payment) => payment.amountMinor)),
    `${method}: credits and listed payments are not the genuine payments`,
  )
  assertRefunds(rows, method, { genuine, credited })
  const refunded = genuine.filter(({ refundedMinor }) => refundedMinor > 0n).length
  return { credited: credited.size, listed: listedOfGenuine.length, refunded }
}

function assertCredited(
  method: string,
  { order, transaction, amountMinor }: GenuinePayment,
  { row, listed }: { readonly row: Payment; readonly listed: ReadonlyMap<string, Difference> },
): void {
  const about = `${method}: ${transaction} of ${order}`
  assert.deepEqual([row.orderId, row.amountMinor], [order, amountMinor], about)
  assert.equal(row.creditNanos, amountMinor * nanosPerMinor, about)
  assert.ok(
    !listed.has(transaction),
    `${about} was credited and is listed as ${listed.get(transaction)?.kind}`,
  )
}

/** A payment is listed only if it differs from its order, or the order is not of this method, or was paid already. */
function assertListed(
  { orders, payments }: PaymentRows,
  method: string,
  { order: id, transaction, amountMinor }: GenuinePayment,
  known: {
    readonly listed: ReadonlyMap<string, Difference>
    readonly credited: ReadonlyMap<string, Payment>
    readonly traffic: PaymentTraffic
  },
): void {
  const order = orders.find((row) => row.id === id)
  const isOrdered = order?.method === method && order.amount_minor === amountMinor
  const isSecond = payments.some((row) => row.orderId === id)
  const about = `${method}: ${transaction} of ${id} (${order?.state ?? 'unknown'})`
  if (isOrdered && !isSecond)
    assert.ok(known.traffic.different.has(transaction), `${about} was paid as ordered and never credited`)
  assert.ok(known.listed.has(transaction), `${about} is neither credited nor listed`)
}

function assertRefunds(
  { orders, refunds }: PaymentRows,
  method: string,
  {
    genuine,
    credited,
  }: {
    readonly genuine: readonly GenuinePayment[]
    readonly credited: ReadonlyMap<string, Payment>
  },
): void {
  const own = new Set(orders.filter((row) => row.method === method).map(({ id }) => id))
  const done = refunds.filter(({ state, orderId }) => state === 'done' && own.has(orderId))
  for (const { order, transaction, refundedMinor } of genuine) {
    const ofPayment = credited.has(transaction) ? done.filter(({ orderId }) => orderId === order) : []
    const about = `${method}: refunds of ${order}`
    assert.equal(sumOf(ofPayment.map((row) => row.amountMinor)), refundedMinor, about)
    assert.equal(sumOf(ofPayment.map((row) => row.paymentNanos)), refundedMinor * nanosPerMinor, about)
  }
  assert.equal(
    sumOf(done.map((row) => row.amountMinor)),
    sumOf(genuine.map(({ refundedMinor }) => refundedMinor)),
    `${method}: what was taken back is not what was refunded`,
  )
}

/** Balances are what was credited, less what was taken back and what was spent. The ledger itself is verified apart. */
function assertBalances({ payments, refunds, balances }: PaymentRows, { debits }: PaymentTraffic): void {
  const taken = refunds.filter(({ state }) => state !== 'failed' && state !== 'refused')
  for (const [account, balance] of balances) {
    assert.ok(balance >= 0n, `${account} has ${balance}`)
    const expected =
      sumOf(payments.filter(({ accountId }) => accountId === account).map((row) => row.creditNanos)) -
      sumOf(taken.filter(({ accountId }) => accountId === account).map((row) => row.paymentNanos)) -
      (debits.get(account) ?? 0n)
    assert.equal(balance, expected, `the balance of ${account}`)
  }
}

/** Orders and refunds that the poller, or an operator, has still to end. Those whose payment differs stay open. */
export function openWork({ orders, refunds }: PaymentRows): number {
  const open = orders.filter(
    ({ state, next_check_at: at }) => /^(created|pending)$/.test(state) && at !== null,
  )
  const moving = refunds.filter(
    ({ state, nextCheckAt }) => nextCheckAt !== null || state === 'debited' || state === 'sent',
  )
  return open.length + moving.length
}
