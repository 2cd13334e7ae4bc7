/** Cells of invoices. */
import type { Invoice } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { StatusLabel, type Tone } from './format-cells.tsx'

const tones: Readonly<Record<Invoice['state'], Tone>> = {
  asked: 'warning',
  issued: 'success',
  refused: 'neutral',
  reversed: 'danger',
}

export function InvoiceState({ invoice }: { readonly invoice: Pick<Invoice, 'state' | 'reason'> }) {
  const t = useMessages('invoices')
  return (
    <>
      <StatusLabel tone={tones[invoice.state]}>{t.states[invoice.state]}</StatusLabel>
      {invoice.reason !== null && <small>{invoice.reason}</small>}
    </>
  )
}

export function InvoiceBuyer({ invoice: { buyer, special } }: { readonly invoice: Invoice }) {
  const t = useMessages('invoices')
  return (
    <>
      {buyer.title}
      <small>{[special ? t.special : t.ordinary, buyer.tax_number ?? ''].join(' ').trim()}</small>
    </>
  )
}

/** With its file and its link. `path`: of the invoices, relative to /api. */
export function InvoiceNumber({ invoice, path }: { readonly invoice: Invoice; readonly path: string }) {
  const t = useMessages('invoices')
  const { id, number, file, link } = invoice
  if (number === null) return '–'
  return (
    <>
      <span className="num">{number}</span>
      <small>
        {file !== null && (
          <a href={`/api${path}/${id}/file`} download>
            {t.download} ({file.toUpperCase()})
          </a>
        )}
        {file !== null && link !== null && ' · '}
        {link !== null && (
          <a href={link} target="_blank" rel="noopener noreferrer">
            {t.open}
          </a>
        )}
      </small>
    </>
  )
}
