/** Invoices, as their customers and operators see them. */
import type { Invoice } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { ShortId, StatusLabel, type Tone } from './format-cells.tsx'
import { PaidAmount } from './payment-cells.tsx'
import { RowMenu, type RowMenuProps } from './row-menu.tsx'
import { Table, type Column } from './table.tsx'
import { LogTime } from './time-cells.tsx'

const tones: Readonly<Record<Invoice['state'], Tone>> = {
  asked: 'warning',
  issued: 'success',
  refused: 'neutral',
  reversed: 'danger',
}

interface InvoiceTableProps {
  readonly invoices: readonly Invoice[]
  /** Of the invoices, relative to /api. */
  readonly path: string
  /** For operators, who also see the account and all of the buyer. */
  readonly actions?: (invoice: Invoice) => RowMenuProps['actions']
}

export function InvoiceTable({ invoices, path, actions }: InvoiceTableProps) {
  const t = useMessages('invoices')
  const ofOperators = (column: Column<Invoice>): Column<Invoice>[] => (actions ? [column] : [])
  return (
    <Table
      label={t.title}
      rows={invoices}
      rowId={({ id }) => id}
      columns={[
        { header: t.time, cell: ({ created_at: at }) => <LogTime at={at} /> },
        {
          header: t.buyer,
          primary: true,
          cell: (invoice) => <InvoiceBuyer invoice={invoice} isComplete={actions !== undefined} />,
        },
        ...ofOperators({ header: t.operator.account, cell: ({ account }) => <ShortId id={account} /> }),
        { header: t.amount, numeric: true, cell: (invoice) => <PaidAmount {...invoice} /> },
        { header: t.number, cell: (invoice) => <InvoiceNumber invoice={invoice} path={path} /> },
        { header: t.state, cell: (invoice) => <InvoiceState invoice={invoice} /> },
        ...ofOperators({
          header: t.action,
          isMenu: true,
          cell: (invoice) => <RowMenu name={invoice.id} actions={actions?.(invoice) ?? []} />,
        }),
      ]}
    />
  )
}

function InvoiceState({ invoice }: { readonly invoice: Invoice }) {
  const t = useMessages('invoices')
  return (
    <>
      <StatusLabel tone={tones[invoice.state]}>{t.states[invoice.state]}</StatusLabel>
      {invoice.reason !== null && <small>{invoice.reason}</small>}
    </>
  )
}

/** `isComplete`: with everything that an operator's software asks for. */
function InvoiceBuyer({ invoice, isComplete }: { readonly invoice: Invoice; readonly isComplete: boolean }) {
  const t = useMessages('invoices')
  const { buyer, special } = invoice
  const { address, phone, bank, bank_account: bankAccount, email, remark } = buyer
  const details = [address, phone, bank, bankAccount, email, remark].filter((each) => each !== null)
  return (
    <>
      {buyer.title}
      <small>{[special ? t.special : t.ordinary, buyer.tax_number ?? ''].join(' ').trim()}</small>
      {isComplete && details.length > 0 && <small>{details.join(' · ')}</small>}
    </>
  )
}

/** With its file and its link. */
function InvoiceNumber({ invoice, path }: { readonly invoice: Invoice; readonly path: string }) {
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
