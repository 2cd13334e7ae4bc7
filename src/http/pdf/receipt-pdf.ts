/** A receipt as PDF. */
import type { Language } from '../api/json-schemas.ts'
import type { Receipt } from '../api/receipts.ts'
import type { AppContext } from '../app-context.ts'
import { pdfTexts } from './locales.ts'
import { formatPdfAmount, formatPdfTime, pdfBrand, type PdfContent } from './pdf-content.ts'
import { pdfResponse } from './render-pdf.ts'

function receiptContent(receipt: Receipt, language: Language): Omit<PdfContent, 'brand'> {
  const all = pdfTexts(language)
  const t = all.receipt
  const { account, buyer, currency, platform_currency: platform, timezone } = receipt
  const paid = (amount: string): string => formatPdfAmount(amount, currency)
  const timeOf = (time: string): string => formatPdfTime(time, timezone)
  const payer = account.name === '' ? account.email : `${account.name} (${account.email})`
  return {
    language,
    title: t.title,
    lead: null,
    facts: [
      [t.number, receipt.number],
      [t.date, `${timeOf(receipt.date)} (${timezone})`],
      [all.account, payer],
      ...(buyer === null ? [] : [[t.buyer, buyer.title] as const]),
      ...(buyer === null || buyer.tax_number === null ? [] : [[t.taxNumber, buyer.tax_number] as const]),
      [t.method, all.methods[receipt.method]],
      [t.transaction, receipt.transaction],
    ],
    tables: [
      {
        title: t.amounts,
        columns: [
          { header: all.item, share: 0.6 },
          { header: all.amount, share: 0.4, isNumeric: true },
        ],
        rows: [
          [t.paid, paid(receipt.amount)],
          [t.fee, paid(receipt.fee)],
          [t.credit, formatPdfAmount(receipt.credit, platform)],
          ...(receipt.bonus === '0' ? [] : [[t.bonus, formatPdfAmount(receipt.bonus, platform)]]),
          ...receipt.refunds.map(({ date, amount }) => [t.refund(timeOf(date)), `−${paid(amount)}`]),
          [t.remaining, paid(receipt.remaining)],
        ],
      },
    ],
    pageNumber: all.pageNumber,
  }
}

export function receiptPdf(
  receipt: Receipt,
  { branding }: Pick<AppContext, 'branding'>,
  language: Language,
): Promise<Response> {
  const content = { ...receiptContent(receipt, language), brand: pdfBrand(branding.current) }
  return pdfResponse(receipt.account.id, content, `receipt-${receipt.number}`)
}
