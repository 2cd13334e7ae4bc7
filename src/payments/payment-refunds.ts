/** Refunds of payments, and disputes. A refund's number is that of its order and a count: a second call makes no second one. */
import type { Compilable } from 'kysely'
import { pageOf, type Db, type Page, type PageOptions } from '../db/db.ts'
import { columnsOf, fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import {
  sql,
  type PaymentDisputesTable,
  type PaymentRefundsTable,
  type RefundState,
} from '../db/schema/schema.ts'
import type { MethodName } from './payment-method.ts'

export type Refund = RowFields<PaymentRefundsTable>

/** States of a refund that is neither made nor given back. */
export const openRefundStates: readonly RefundState[] = ['requested', 'debited', 'sent', 'unknown']

/** States in which a refund counts: the money has left the account. */
export const countedStates: readonly RefundState[] = [...openRefundStates, 'done']

/** The refund's number at the provider, too. Letters and digits, at most 32. */
export const refundIdOf = (orderId: string, count: number): string => `${orderId}R${count}`

/** Of a refund that was made in the provider's own pages and listed as a difference: the same at each repetition. */
export const listedRefundIdOf = (orderId: string, differenceId: string): string =>
  `${orderId}D${differenceId.slice(-8).toUpperCase()}`

export function insertRefund(refund: Refund): Compilable {
  return sql.insertInto('payment_refunds').values(rowOf<PaymentRefundsTable>(refund))
}

export type RefundPatch = Partial<
  Pick<Refund, 'state' | 'decidedBy' | 'reference' | 'problem' | 'nextCheckAt' | 'checks'>
>

/** Changes a refund that is in one of these states. */
export function updateRefund(
  id: string,
  states: readonly RefundState[],
  patch: RefundPatch,
  at: number,
): Compilable {
  return sql
    .updateTable('payment_refunds')
    .set({ ...columnsOf<PaymentRefundsTable>(patch), updated_at: at })
    .where('id', '=', id)
    .where('state', 'in', [...states])
}

const refunds = () => sql.selectFrom('payment_refunds').selectAll()

export async function refundById(db: Db, id: string): Promise<Refund | undefined> {
  const row = await db.first(refunds().where('id', '=', id))
  return row && fieldsOf(row)
}

export async function refundsOfOrder(db: Db, orderId: string): Promise<Refund[]> {
  return (await db.all(refunds().where('order_id', '=', orderId))).map(fieldsOf)
}

/** Refunds of an account that are neither made nor given back, or whose balance is not back yet. */
export const openRefundsOf = (accountId: string) =>
  sql
    .selectFrom('payment_refunds')
    .select('id')
    .where('account_id', '=', accountId)
    .where((build) =>
      build.or([build('state', 'in', openRefundStates), build('next_check_at', 'is not', null)]),
    )

/** Refunds of a method's orders that were completed in a span. */
export async function refundsDoneBetween(
  db: Db,
  method: MethodName,
  from: number,
  to: number,
): Promise<Refund[]> {
  const query = sql
    .selectFrom('payment_refunds')
    .innerJoin('payment_orders', 'payment_orders.id', 'payment_refunds.order_id')
    .selectAll('payment_refunds')
    .where('payment_orders.method', '=', method)
    .where('payment_refunds.state', '=', 'done')
    .where('payment_refunds.updated_at', '>=', from)
    .where('payment_refunds.updated_at', '<', to)
  return (await db.report(query)).map(fieldsOf)
}

/** Refunds that are to be gone on with, with the method of their order, those that wait longest first. */
export async function dueRefunds(
  db: Db,
  now: number,
  limit: number,
): Promise<(Refund & { readonly method: MethodName })[]> {
  const query = sql
    .selectFrom('payment_refunds')
    .innerJoin('payment_orders', 'payment_orders.id', 'payment_refunds.order_id')
    .selectAll('payment_refunds')
    .select('payment_orders.method')
    .where('payment_refunds.next_check_at', '<=', now)
    .orderBy('payment_refunds.next_check_at')
    .limit(limit)
  return (await db.all(query)).map(fieldsOf)
}

export interface RefundFilter {
  readonly account?: string | undefined
  readonly order?: string | undefined
  readonly state?: RefundState | undefined
}

/** Those of the newest orders first. */
export async function listRefunds(db: Db, filter: RefundFilter, page: PageOptions): Promise<Page<Refund>> {
  const { account: accountId, order: orderId, state } = filter
  let query = refunds()
    .where((build) => build.and(columnsOf<PaymentRefundsTable>({ accountId, orderId, state })))
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, fieldsOf<PaymentRefundsTable>)
}

export type Dispute = RowFields<PaymentDisputesTable>

/** The id of what a dispute takes back. */
export const disputeId = ({ method, reference }: Pick<Dispute, 'method' | 'reference'>): string =>
  `dispute:${method}:${reference}`

export async function disputeByReference(
  db: Db,
  method: MethodName,
  reference: string,
): Promise<Dispute | undefined> {
  const query = sql.selectFrom('payment_disputes').selectAll()
  const row = await db.first(query.where('method', '=', method).where('reference', '=', reference))
  return row && fieldsOf(row)
}

export async function disputesOfOrder(db: Db, orderId: string): Promise<Dispute[]> {
  const rows = await db.all(sql.selectFrom('payment_disputes').selectAll().where('order_id', '=', orderId))
  return rows.map(fieldsOf)
}

export function insertDispute(dispute: Dispute): Compilable {
  return sql.insertInto('payment_disputes').values(rowOf<PaymentDisputesTable>(dispute))
}

export function updateDispute(dispute: Dispute, state: Dispute['state'], at: number): Compilable {
  return sql
    .updateTable('payment_disputes')
    .set({ state, updated_at: at, ...(state === 'won' ? { receivable_nanos: 0n } : {}) })
    .where('method', '=', dispute.method)
    .where('reference', '=', dispute.reference)
    .where('state', '=', dispute.state)
}

/** What an account owes after disputes that its balance did not cover, in nanos. */
export async function receivableOf(db: Db, account: string): Promise<bigint> {
  const query = sql.selectFrom('payment_disputes').select('receivable_nanos')
  const rows = await db.all(query.where('account_id', '=', account).where('receivable_nanos', '>', 0n))
  return rows.reduce((sum, { receivable_nanos: nanos }) => sum + nanos, 0n)
}

/** Whether a payment of the account is disputed, or its dispute was lost. */
export async function hasDispute(db: Db, account: string): Promise<boolean> {
  const query = sql.selectFrom('payment_disputes').select('reference').where('account_id', '=', account)
  return (await db.first(query.where('state', '!=', 'won').limit(1))) !== undefined
}

/** What took money of an account back: refunds that count, and disputes that were not won, by the order's id. */
export async function paybacksOf(
  db: Db,
  account: string,
): Promise<{ readonly id: string; readonly orderId: string }[]> {
  const [refundRows, disputeRows] = await Promise.all([
    db.all(
      sql
        .selectFrom('payment_refunds')
        .select(['id', 'order_id as orderId'])
        .where('account_id', '=', account),
    ),
    db.all(sql.selectFrom('payment_disputes').selectAll().where('account_id', '=', account)),
  ])
  const disputes = disputeRows.map(fieldsOf)
  return [...refundRows, ...disputes.map((each) => ({ id: disputeId(each), orderId: each.orderId }))]
}
