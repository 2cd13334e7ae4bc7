/** `/invoices`: what customers ask for; operators issue, refuse and reverse them. */
import { z } from '@hono/zod-openapi'
import { issueInvoice, rejectInvoice, reverseInvoice } from '../../../engine/payments/invoices.ts'
import { invalidField, notFound } from '../../../errors.ts'
import { cleanHttpsUrl } from '../../../branding/branding.ts'
import { readInvoiceFile } from '../../../payments/invoice-file.ts'
import { invoiceById, listInvoices, type Invoice } from '../../../payments/invoices.ts'
import { view } from '../../api/define-endpoints.ts'
import {
  invoiceColumns,
  invoiceCursor,
  invoiceFileResponse,
  invoiceSchema,
  invoiceStates,
  serializeInvoice,
} from '../../api/invoices.ts'
import { admin } from '../admin-context.ts'

const invoiceView = view('invoice', invoiceSchema, (invoice: Invoice, ctx) => serializeInvoice(invoice, ctx))

const digits = z.string().regex(/^\d{20}$/, { error: 'must be a number of 20 digits' })
const reason = z.string().trim().min(1).max(500)

const issueInput = z.strictObject({
  number: digits,
  date: z.iso.date().meta({ description: 'The day of the invoice.' }),
  file: z.string().optional().meta({ description: 'PDF, OFD or XML of at most 5 MiB, as base64.' }),
  link: z.string().max(2000).optional().meta({ description: 'An https URL of the invoice.' }),
})

/** An invoice of tomorrow may be of today, where the operator is. */
const maxAheadMs = 86_400_000

export const invoiceEndpoints = [
  admin.page('/invoices', {
    summary: 'List invoices, newest first',
    item: invoiceView,
    filters: { account: z.string().optional(), state: z.enum(invoiceStates).optional() },
    cursor: invoiceCursor,
    csv: ['account', ...invoiceColumns],
    handle: ({ ctx, query: { account, state }, page }) => listInvoices(ctx.db, { account, state }, page),
  }),
  admin.get('/invoices/{id}', {
    summary: 'Get an invoice',
    response: invoiceView,
    handle: ({ ctx, params }) => invoiceById(ctx.db, params.id),
  }),
  admin.get('/invoices/{id}/file', {
    summary: 'Download the file of an invoice',
    response: z.string(),
    returns: 'The file.',
    mediaType: 'application/octet-stream',
    async handle({ ctx, params }) {
      const invoice = await invoiceById(ctx.db, params.id)
      if (invoice === undefined) throw notFound('Invoice')
      return invoiceFileResponse(ctx, invoice)
    },
  }),
  admin.post('/invoices/{id}/issue', {
    summary: 'Record an invoice that was issued, with its file or link',
    body: issueInput,
    response: invoiceView,
    handle({ ctx, by, params, body: { number, date, file, link } }) {
      if (Date.parse(date) > Date.now() + maxAheadMs) throw invalidField('date', 'must not be in the future')
      const issued = {
        number,
        date,
        file: file === undefined ? null : readInvoiceFile(file),
        link: link === undefined ? null : cleanHttpsUrl(link, 'link'),
      }
      return issueInvoice(ctx.db, params.id, issued, by)
    },
  }),
  admin.post('/invoices/{id}/refuse', {
    summary: 'Refuse an invoice: its payments can be invoiced again',
    body: z.strictObject({ reason }),
    response: invoiceView,
    handle: ({ ctx, by, params, body }) => rejectInvoice(ctx.db, params.id, body.reason, by),
  }),
  admin.post('/invoices/{id}/reverse', {
    summary: 'Record that an invoice was reversed by a credit note',
    body: z.strictObject({ reason, credit_note: digits.optional() }),
    response: invoiceView,
    handle: ({ ctx, by, params, body: { reason: why, credit_note: creditNote = null } }) =>
      reverseInvoice(ctx.db, params.id, { reason: why, creditNote }, by),
  }),
]
