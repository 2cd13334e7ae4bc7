/** Invoices of payments; owned by payments/. Amounts `_minor` are whole minor units. */

export type InvoiceState = 'asked' | 'issued' | 'refused' | 'reversed'
export type InvoiceFileType = 'pdf' | 'ofd' | 'xml'

/** Whom an invoice names. The fields from `address` to `bank_account` are needed for special VAT invoices only. */
export interface InvoiceTitlesTable {
  id: string
  account_id: string
  kind: 'person' | 'enterprise'
  title: string
  tax_number: string | null
  address: string | null
  phone: string | null
  bank: string | null
  bank_account: string | null
  email: string | null
  remark: string | null
  created_at: number
}

export interface InvoicesTable {
  id: string
  account_id: string
  state: InvoiceState
  /** A special VAT invoice. */
  special: 0 | 1
  /** JSON of the title, as it was when the invoice was asked for. */
  buyer: string
  currency: string
  amount_minor: bigint
  /** Of the tax authority: 20 digits. */
  number: string | null
  /** The day, `2026-11-28`. */
  issued_on: string | null
  /** Where the invoice is, if it is not stored. */
  link: string | null
  /** Of the stored file. */
  file_type: InvoiceFileType | null
  /** Why it was refused or reversed. */
  reason: string | null
  /** The number of the credit note. */
  credit_note: string | null
  requested_by: string
  decided_by: string | null
  created_at: number
  updated_at: number
}

/** The payments on an invoice. */
export interface InvoiceOrdersTable {
  invoice_id: string
  order_id: string
  /** What of the payment is invoiced. */
  amount_minor: bigint
  /** 0: the invoice was refused or reversed, and the payment can be invoiced again. */
  active: 0 | 1
}

export interface InvoiceFilesTable {
  invoice_id: string
  content: Uint8Array
}

export interface InvoiceTables {
  invoice_titles: InvoiceTitlesTable
  invoices: InvoicesTable
  invoice_orders: InvoiceOrdersTable
  invoice_files: InvoiceFilesTable
}
