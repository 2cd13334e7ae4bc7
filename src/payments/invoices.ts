/**
 * Invoices of payments. A payment is on one invoice at most that is neither refused nor reversed: a unique index holds it.
 * What is invoiced of a payment and what goes back of it never exceed what was paid. Statements are for the batches of
 * `engine/payments/`, which lock the order first, so that sums read after it are current.
 */
import type { Compilable } from 'kysely'
import { compileQuery, pageOf, type Db, type Page, type PageOptions, type Query } from '../db/db.ts'
import { columnsOf, fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type InvoicesTable, type InvoiceState, type PaymentsTable } from '../db/schema/schema.ts'
import type { Statement } from '../db/statement.ts'
import type { InvoiceFile } from './invoice-file.ts'
import type { InvoiceTitleInput } from './invoice-titles.ts'
import { countedStates } from './payment-refunds.ts'

export interface Invoice extends Omit<RowFields<InvoicesTable>, 'buyer'> {
  /** The title, as it was when the invoice was asked for. */
  readonly buyer: InvoiceTitleInput
}

/** A payment, or the part of one, on an invoice. */
export interface InvoicedPayment {
  readonly orderId: string
  readonly amountMinor: bigint
}

function invoiceOf(row: InvoicesTable): Invoice {
  return { ...fieldsOf(row), buyer: JSON.parse(row.buyer) as InvoiceTitleInput }
}

export function insertInvoice(invoice: Invoice): Compilable {
  const row = rowOf<InvoicesTable>({ ...invoice, buyer: JSON.stringify(invoice.buyer) })
  return sql.insertInto('invoices').values(row)
}

const refundedSql = `(select coalesce(sum(amount_minor), 0) from payment_refunds
  where payment_refunds.order_id = payments.order_id
  and payment_refunds.state in (${countedStates.map((state) => `'${state}'`).join(', ')}))`
const disputedSql = `(select coalesce(sum(amount_minor), 0) from payment_disputes
  where payment_disputes.order_id = payments.order_id and payment_disputes.state <> 'won')`
const invoicedSql = `(select coalesce(sum(amount_minor), 0) from invoice_orders
  where invoice_orders.order_id = payments.order_id and invoice_orders.active = 1)`
/** What of a payment can be invoiced. */
const leftSql = `cast(payments.amount_minor - ${refundedSql} - ${disputedSql} as bigint)`

/** Puts a payment on an invoice; changes no row if what is left of it is not this amount any more. */
export function insertInvoicedPayment(invoice: string, { orderId, amountMinor }: InvoicedPayment): Statement {
  return {
    sql: `insert into invoice_orders (invoice_id, order_id, amount_minor, active)
      select ?, ?, ?, 1 from payments where payments.order_id = ? and ${leftSql} = ?`,
    parameters: [invoice, orderId, amountMinor, orderId, amountMinor],
    expectChanges: 1,
  }
}

/** The payments on an invoice that is refused or reversed can be invoiced again. */
export function releaseInvoicedPayments(invoice: string): Compilable {
  return sql.updateTable('invoice_orders').set({ active: 0 }).where('invoice_id', '=', invoice)
}

export function insertInvoiceFile(invoice: string, { content }: InvoiceFile): Compilable {
  return sql.insertInto('invoice_files').values({ invoice_id: invoice, content })
}

export type InvoicePatch = Partial<
  Pick<Invoice, 'decidedBy' | 'number' | 'issuedOn' | 'link' | 'fileType' | 'reason' | 'creditNote'>
> & { readonly state: Exclude<InvoiceState, 'asked'> }

/** Changes an invoice that is in this state. */
export function updateInvoice(id: string, from: InvoiceState, patch: InvoicePatch, at: number): Compilable {
  return sql
    .updateTable('invoices')
    .set({ ...columnsOf<InvoicesTable>(patch), updated_at: at })
    .where('id', '=', id)
    .where('state', '=', from)
}

const invoices = () => sql.selectFrom('invoices').selectAll()

export async function invoiceById(db: Db, id: string): Promise<Invoice | undefined> {
  const row = await db.first(invoices().where('id', '=', id))
  return row && invoiceOf(row)
}

/** The content of the file, if one is stored. */
export async function fileOfInvoice(db: Db, id: string): Promise<Uint8Array | undefined> {
  const row = await db.first(sql.selectFrom('invoice_files').select('content').where('invoice_id', '=', id))
  return row?.content
}

export async function paymentsOfInvoice(db: Db, id: string): Promise<InvoicedPayment[]> {
  const query = sql
    .selectFrom('invoice_orders')
    .select(['order_id', 'amount_minor'])
    .where('invoice_id', '=', id)
    .orderBy('order_id')
  return (await db.all(query)).map(fieldsOf)
}

/** The invoice that a payment is on, unless it was refused or reversed. */
export async function invoiceOfOrder(db: Db, orderId: string): Promise<Invoice | undefined> {
  const row = await db.first(
    sql
      .selectFrom('invoices')
      .innerJoin('invoice_orders', 'invoice_orders.invoice_id', 'invoices.id')
      .selectAll('invoices')
      .where('invoice_orders.order_id', '=', orderId)
      .where('invoice_orders.active', '=', 1),
  )
  return row && invoiceOf(row)
}

export interface InvoiceFilter {
  readonly account?: string | undefined
  readonly state?: InvoiceState | undefined
}

/** Newest first. */
export async function listInvoices(db: Db, filter: InvoiceFilter, page: PageOptions): Promise<Page<Invoice>> {
  const { account: accountId, state } = filter
  let query = invoices()
    .where((build) => build.and(columnsOf<InvoicesTable>({ accountId, state })))
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, invoiceOf)
}

type InvoiceableRow = Pick<PaymentsTable, 'order_id' | 'method' | 'currency' | 'paid_at'> & {
  left_minor: bigint
}

/** A payment that is on no invoice; `leftMinor`: what was neither refunded nor disputed. */
export type InvoiceablePayment = RowFields<InvoiceableRow>

const maxInvoiceable = 200

/** The latest payments of an account that can be invoiced; `orders`: only those of them. */
export async function invoiceablePayments(
  db: Db,
  account: string,
  orders: readonly string[] | null = null,
): Promise<InvoiceablePayment[]> {
  const ofOrders = orders === null ? '' : `and order_id in (${orders.map(() => '?').join(', ')})`
  const rows = await db.all<InvoiceableRow>({
    sql: `select order_id, method, currency, paid_at, ${leftSql} as left_minor from payments
      where account_id = ? ${ofOrders} and ${invoicedSql} = 0
      order by settled_at desc limit ${maxInvoiceable}`,
    parameters: [account, ...(orders ?? [])],
  })
  return rows.map(fieldsOf).filter(({ leftMinor }) => leftMinor > 0n)
}

/** Whether an amount more can go back without exceeding what is not invoiced. */
const roomSql = `payments.amount_minor >= ${invoicedSql} + ${refundedSql} + ?`

/** Of an order that is on an invoice: whether the invoice must be reversed before this much more goes back. */
export async function needsCreditNote(db: Db, orderId: string, moreMinor = 0n): Promise<boolean> {
  const found = await db.first({
    sql: `select 1 as found from payments where order_id = ? and ${invoicedSql} > 0 and not (${roomSql})`,
    parameters: [orderId, moreMinor],
  })
  return found !== undefined
}

/** Changes nothing while an invoice of the order covers what goes back. */
export function unlessInvoiced(update: Query, orderId: string): Statement {
  const { sql: text, parameters } = compileQuery(update)
  const room = `exists (select 1 from payments where payments.order_id = ? and (${invoicedSql} = 0 or ${roomSql}))`
  return { sql: `${text} and ${room}`, parameters: [...parameters, orderId, 0n], expectChanges: 1 }
}
