/** Invoices: customers ask for them, operators issue, refuse and reverse them. Issuing itself is the operator's own software. */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, type Db, type Query } from '../../db/db.ts'
import { columnsOf } from '../../db/row-fields.ts'
import { isExpectationFailure, isUniqueViolation } from '../../db/store-error.ts'
import type { InvoicesTable, InvoiceState } from '../../db/schema/schema.ts'
import { apiError, invalidField, notFound } from '../../errors.ts'
import { formatMinor } from '../../lib/currency.ts'
import { newId } from '../../lib/ids.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import type { InvoiceFile } from '../../payments/invoice-file.ts'
import { invoiceTitleById, type InvoiceTitleInput } from '../../payments/invoice-titles.ts'
import {
  insertInvoice,
  insertInvoicedPayment,
  insertInvoiceFile,
  invoiceablePayments,
  invoiceById,
  releaseInvoicedPayments,
  updateInvoice,
  type Invoice,
  type InvoiceablePayment,
  type InvoicePatch,
} from '../../payments/invoices.ts'
import { updateOrder } from '../../payments/payment-orders.ts'

export interface InvoiceRequest {
  readonly account: string
  /** The id of one of the account's titles. */
  readonly title: string
  readonly special: boolean
  readonly orders: readonly string[]
  readonly by: string
}

/** For what is left of each payment. Throws 400, 404, or 409 if a payment cannot be invoiced. */
export async function requestInvoice(db: Db, request: InvoiceRequest): Promise<Invoice> {
  const { account, special, by } = request
  const title = await invoiceTitleById(db, account, request.title)
  if (title === undefined) throw notFound('Invoice title')
  if (special && !isComplete(title))
    throw invalidField('title', 'needs the address, telephone, bank and bank account of an enterprise')
  const payments = await requireInvoiceable(db, request)
  const at = Date.now()
  const { id: _id, accountId: _account, createdAt: _at, ...buyer } = title
  const invoice: Invoice = {
    id: newId('inv'),
    accountId: account,
    state: 'asked',
    special: special ? 1 : 0,
    buyer,
    currency: payments[0]?.currency ?? '',
    amountMinor: payments.reduce((sum, { leftMinor }) => sum + leftMinor, 0n),
    number: null,
    issuedOn: null,
    link: null,
    fileType: null,
    reason: null,
    creditNote: null,
    requestedBy: by,
    decidedBy: null,
    createdAt: at,
    updatedAt: at,
  }
  try {
    await db.write(
      // Locked in the same order by every call.
      ...payments.map(({ orderId }) => expectChanges(updateOrder(orderId, ['paid'], {}, at), 1)),
      expectChanges(insertInvoice(invoice), 1),
      ...payments.map(({ orderId, leftMinor }) =>
        insertInvoicedPayment(invoice.id, { orderId, amountMinor: leftMinor }),
      ),
      ...requestRecords(invoice, by),
    )
  } catch (error) {
    if (!isExpectationFailure(error) && !isUniqueViolation(error, 'invoice_orders.order_id')) throw error
    throw apiError('conflict', { param: 'orders', message: 'A payment has changed meanwhile. Try again.' })
  }
  return invoice
}

/** What a special VAT invoice names. */
function isComplete(title: InvoiceTitleInput): boolean {
  const { kind, address, phone, bank, bankAccount } = title
  return kind === 'enterprise' && ![address, phone, bank, bankAccount].includes(null)
}

async function requireInvoiceable(
  db: Db,
  { account, orders }: Pick<InvoiceRequest, 'account' | 'orders'>,
): Promise<InvoiceablePayment[]> {
  const wanted = [...new Set(orders)].toSorted()
  const found = new Map((await invoiceablePayments(db, account, wanted)).map((each) => [each.orderId, each]))
  const payments = wanted.map((orderId) => {
    const payment = found.get(orderId)
    if (payment !== undefined) return payment
    const message = `Payment ${orderId} cannot be invoiced: it is not paid, already on an invoice, or refunded.`
    throw apiError('conflict', { param: 'orders', message })
  })
  if (new Set(payments.map(({ currency }) => currency)).size > 1)
    throw invalidField('orders', 'must be payments in one currency')
  return payments
}

const amountOf = ({ amountMinor, currency }: Invoice): string => formatMinor(amountMinor, currency)

function requestRecords(invoice: Invoice, by: string): Query[] {
  const { id, accountId: account, currency, buyer } = invoice
  const amount = amountOf(invoice)
  return [
    auditStatement(by, 'invoice.request', id, { account, amount, currency, title: buyer.title }),
    insertNotification({
      audience: operatorAudience,
      kind: 'payment',
      severity: 'info',
      subject: `invoice:${id}`,
      period: 'asked',
      code: 'invoice_requested',
      params: { amount, currency, title: buyer.title },
    }),
  ]
}

export interface IssuedInvoice {
  /** 20 digits. */
  readonly number: string
  /** The day, `2026-11-28`. */
  readonly date: string
  readonly file: InvoiceFile | null
  /** An https URL. */
  readonly link: string | null
}

/** Throws 400, 404, or 409 if it was decided before or the number is that of another invoice. */
export async function issueInvoice(
  db: Db,
  id: string,
  { number, date, file, link }: IssuedInvoice,
  by: string,
): Promise<Invoice> {
  if (file === null && link === null) throw invalidField('file', 'is required without a link')
  const patch = { state: 'issued', number, issuedOn: date, link, fileType: file?.type ?? null } as const
  try {
    return await decide(db, id, {
      from: 'asked',
      patch,
      by,
      action: 'invoice.issue',
      statements: file === null ? [] : [insertInvoiceFile(id, file)],
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'invoices.number')) throw error
    throw apiError('conflict', { param: 'number', message: 'Another invoice has this number.' })
  }
}

/** Its payments can be invoiced again. Throws 404, 409 if it was decided before. */
export function rejectInvoice(db: Db, id: string, reason: string, by: string): Promise<Invoice> {
  return decide(db, id, {
    from: 'asked',
    patch: { state: 'refused', reason },
    by,
    action: 'invoice.refuse',
    statements: [releaseInvoicedPayments(id)],
  })
}

/** The operator has issued a credit note. Its payments can be invoiced and refunded again. Throws 404, 409. */
export function reverseInvoice(
  db: Db,
  id: string,
  { reason, creditNote }: { readonly reason: string; readonly creditNote: string | null },
  by: string,
): Promise<Invoice> {
  return decide(db, id, {
    from: 'issued',
    patch: { state: 'reversed', reason, creditNote },
    by,
    action: 'invoice.reverse',
    statements: [releaseInvoicedPayments(id)],
  })
}

interface Decision {
  readonly from: InvoiceState
  readonly patch: InvoicePatch
  readonly by: string
  readonly action: string
  readonly statements: readonly Query[]
}

async function decide(db: Db, id: string, decision: Decision): Promise<Invoice> {
  const { from, patch, by, action, statements } = decision
  const invoice = await requireInvoice(db, id)
  const { accountId: account, currency } = invoice
  const { state, reason = '', number = invoice.number } = patch
  const at = Date.now()
  const notice = insertNotification({
    audience: account,
    kind: 'payment',
    severity: state === 'issued' ? 'info' : 'warning',
    subject: `invoice:${id}`,
    period: state,
    code: `invoice_${state}`,
    params: { amount: amountOf(invoice), currency, number: number ?? '', reason: reason ?? '' },
  })
  const { state: _state, ...detail } = patch
  try {
    await db.write(
      expectChanges(updateInvoice(id, from, { ...patch, decidedBy: by }, at), 1),
      ...statements,
      notice,
      auditStatement(by, action, id, { account, ...columnsOf<InvoicesTable>(detail) }),
    )
  } catch (error) {
    if (!isExpectationFailure(error)) throw error
    const { state: found } = await requireInvoice(db, id)
    throw apiError('conflict', { message: `This invoice is ${found}.` })
  }
  return requireInvoice(db, id)
}

async function requireInvoice(db: Db, id: string): Promise<Invoice> {
  const invoice = await invoiceById(db, id)
  if (invoice === undefined) throw notFound('Invoice')
  return invoice
}
