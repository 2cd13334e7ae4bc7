/** Invoices and their titles in the JSON of the admin API and the console API, and the file of an invoice. */
import { z } from '@hono/zod-openapi'
import { notFound } from '../../errors.ts'
import { formatMinor } from '../../lib/currency.ts'
import type { InvoiceFileType } from '../../db/schema/schema.ts'
import type { InvoiceTitleInput } from '../../payments/invoice-titles.ts'
import { fileOfInvoice, paymentsOfInvoice, type Invoice } from '../../payments/invoices.ts'
import type { AppContext } from '../app-context.ts'
import { attachment } from '../attachment.ts'
import { money, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

export const invoiceStates = ['asked', 'issued', 'refused', 'reversed'] as const
/** The pattern of cursors of a list of invoices. */
export const invoiceCursor = /^inv_[0-9a-z]{26}$/

export const invoiceBuyer = z.object({
  kind: z.enum(['person', 'enterprise']),
  title: z.string(),
  tax_number: z.string().nullable(),
  address: z.string().nullable(),
  phone: z.string().nullable(),
  bank: z.string().nullable(),
  bank_account: z.string().nullable(),
  email: z.string().nullable(),
  remark: z.string().nullable(),
})

export const invoiceSchema = z
  .object({
    id: z.string(),
    account: z.string(),
    state: z.enum(invoiceStates),
    special: z.boolean().meta({ description: 'A special VAT invoice.' }),
    buyer: invoiceBuyer,
    amount: money.meta({ description: 'In the currency of the payments, without bonuses.' }),
    currency: z.string(),
    payments: z
      .array(z.object({ order: z.string(), amount: money }))
      .meta({ description: 'What of each payment is invoiced.' }),
    number: z.string().nullable(),
    date: z.string().nullable(),
    link: z.string().nullable(),
    file: z.enum(['pdf', 'ofd', 'xml']).nullable().meta({ description: 'The type of the stored file.' }),
    reason: z.string().nullable().meta({ description: 'Why it was refused or reversed.' }),
    credit_note: z.string().nullable().meta({ description: 'The number of the credit note.' }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Invoice')
export type InvoiceJson = z.infer<typeof invoiceSchema>

export function serializeBuyer(buyer: InvoiceTitleInput): z.infer<typeof invoiceBuyer> {
  const { kind, title, address, phone, bank, email, remark } = buyer
  return {
    kind,
    title,
    tax_number: buyer.taxNumber,
    address,
    phone,
    bank,
    bank_account: buyer.bankAccount,
    email,
    remark,
  }
}

export async function serializeInvoice(
  invoice: Invoice,
  { db }: Pick<AppContext, 'db'>,
): Promise<InvoiceJson> {
  const { currency } = invoice
  const payments = await paymentsOfInvoice(db, invoice.id)
  return {
    id: invoice.id,
    account: invoice.accountId,
    state: invoice.state,
    special: invoice.special === 1,
    buyer: serializeBuyer(invoice.buyer),
    amount: formatMinor(invoice.amountMinor, currency),
    currency,
    payments: payments.map(({ orderId, amountMinor }) => ({
      order: orderId,
      amount: formatMinor(amountMinor, currency),
    })),
    number: invoice.number,
    date: invoice.issuedOn,
    link: invoice.link,
    file: invoice.fileType,
    reason: invoice.reason,
    credit_note: invoice.creditNote,
    created_at: formatTime(invoice.createdAt),
    updated_at: formatTime(invoice.updatedAt),
  }
}

/** Columns of the exports of both APIs. */
export const invoiceColumns = [
  'id',
  'state',
  'special',
  'buyer.kind',
  'buyer.title',
  'buyer.tax_number',
  'amount',
  'currency',
  { name: 'payments', valueOf: ({ payments }: InvoiceJson) => payments.map(({ order }) => order) },
  'number',
  'date',
  'reason',
  'credit_note',
  'created_at',
] as const

const mediaTypes: Readonly<Record<InvoiceFileType, string>> = {
  pdf: 'application/pdf',
  ofd: 'application/ofd',
  xml: 'application/xml',
}

/** Throws 404 without a stored file. */
export async function invoiceFileResponse(
  { db }: Pick<AppContext, 'db'>,
  { id, number, fileType }: Invoice,
): Promise<Response> {
  const content = await fileOfInvoice(db, id)
  if (content === undefined || fileType === null) throw notFound('Invoice file')
  return attachment(new Uint8Array(content), `invoice-${number ?? id}.${fileType}`, mediaTypes[fileType])
}
