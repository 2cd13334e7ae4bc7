/** An account's own invoices: titles, the payments that can be invoiced, requests, and what became of them. */
import { z } from 'zod'
import { cleanEmail } from '../../../accounts/fields.ts'
import { requestInvoice } from '../../../engine/payments/invoices.ts'
import { notFound } from '../../../errors.ts'
import { formatMinor } from '../../../lib/currency.ts'
import {
  addInvoiceTitle,
  deleteInvoiceTitle,
  listInvoiceTitles,
  type InvoiceTitle,
} from '../../../payments/invoice-titles.ts'
import { invoiceablePayments, invoiceById, listInvoices } from '../../../payments/invoices.ts'
import { isOldTaxNumber } from '../../../payments/tax-number.ts'
import {
  invoiceBuyer,
  invoiceColumns,
  invoiceCursor,
  invoiceFileResponse,
  invoiceSchema,
  serializeBuyer,
  serializeInvoice,
} from '../../api/invoices.ts'
import { done, money, pageFields, pageOf, time } from '../../api/json-schemas.ts'
import { decodeCursor, encodeCursor, formatTime } from '../../api/json-values.ts'
import { paymentMethod } from '../../api/payment-orders.ts'
import { customer } from '../context.ts'

const titleSchema = invoiceBuyer.extend({
  id: z.string(),
  /** It has 15 digits: right for an enterprise that has no number of 18 characters yet. */
  old_tax_number: z.boolean(),
})
export type InvoiceTitleJson = z.infer<typeof titleSchema>

const text = (maxLength: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .regex(/^\P{Cc}*$/u, { error: 'must not contain control characters' })

const titleInput = z.strictObject({
  kind: z.enum(['person', 'enterprise']),
  title: text(100),
  tax_number: text(40).optional(),
  address: text(200).optional(),
  phone: text(40).optional(),
  bank: text(100).optional(),
  bank_account: text(40).optional(),
  email: text(254).optional(),
  remark: text(200).optional(),
})

const titleJson = (title: InvoiceTitle): InvoiceTitleJson => ({
  id: title.id,
  ...serializeBuyer(title),
  old_tax_number: title.taxNumber !== null && isOldTaxNumber(title.taxNumber),
})

const paymentSchema = z.object({
  order: z.string(),
  method: paymentMethod,
  paid_at: time,
  /** What was neither refunded nor disputed. */
  amount: money,
  currency: z.string(),
})
export type InvoiceablePaymentJson = z.infer<typeof paymentSchema>

export const invoiceEndpoints = {
  invoiceTitles: customer.get('/billing/invoice-titles', {
    response: z.object({ data: z.array(titleSchema) }),
    handle: async ({ ctx, accountId }) => ({
      data: (await listInvoiceTitles(ctx.db, accountId)).map(titleJson),
    }),
  }),
  addInvoiceTitle: customer.post('/billing/invoice-titles', {
    body: titleInput,
    response: titleSchema,
    async handle({ ctx, accountId, by, body }) {
      const { tax_number: taxNumber = null, bank_account: bankAccount = null, ...rest } = body
      const { address = null, phone = null, bank = null, email = null, remark = null, kind, title } = rest
      const input = { kind, title, taxNumber, address, phone, bank, bankAccount, remark }
      const cleaned = { ...input, email: email === null ? null : cleanEmail(email).email }
      return titleJson(await addInvoiceTitle(ctx.db, accountId, cleaned, by))
    },
  }),
  deleteInvoiceTitle: customer.remove('/billing/invoice-titles/{id}', {
    response: done,
    async handle({ ctx, accountId, by, params }) {
      const isFound = await deleteInvoiceTitle(ctx.db, accountId, params.id, by)
      if (!isFound) throw notFound('Invoice title')
      return { done: true as const }
    },
  }),
  invoiceablePayments: customer.get('/billing/invoices/payments', {
    response: z.object({ data: z.array(paymentSchema) }),
    handle: async ({ ctx, accountId }) => ({
      data: (await invoiceablePayments(ctx.db, accountId)).map(
        ({ orderId, method, paidAt, leftMinor, currency }) => ({
          order: orderId,
          method,
          paid_at: formatTime(paidAt),
          amount: formatMinor(leftMinor, currency),
          currency,
        }),
      ),
    }),
  }),
  invoices: customer.get('/billing/invoices', {
    query: pageFields,
    response: pageOf(invoiceSchema),
    csv: [...invoiceColumns],
    async handle({ ctx, accountId, query }) {
      const page = { limit: query.limit, cursor: decodeCursor(query.cursor, invoiceCursor) }
      const { data, next } = await listInvoices(ctx.db, { account: accountId }, page)
      return {
        data: await Promise.all(data.map((invoice) => serializeInvoice(invoice, ctx))),
        next: encodeCursor(next),
      }
    },
  }),
  requestInvoice: customer.post('/billing/invoices', {
    body: z.strictObject({
      title: z.string().max(100),
      special: z.boolean().default(false),
      orders: z.array(z.string().max(40)).min(1).max(100),
    }),
    response: invoiceSchema,
    handle: async ({ ctx, accountId, by, body }) =>
      serializeInvoice(await requestInvoice(ctx.db, { account: accountId, by, ...body }), ctx),
  }),
  invoiceFile: customer.get('/billing/invoices/{id}/file', {
    response: z.string(),
    async handle({ ctx, accountId, params }) {
      const invoice = await invoiceById(ctx.db, params.id)
      if (invoice?.accountId !== accountId) throw notFound('Invoice')
      return invoiceFileResponse(ctx, invoice)
    },
  }),
}
