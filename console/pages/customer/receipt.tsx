/** The receipt of a payment, to print or save. */
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { Receipt } from '../../api/contract.ts'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { formatMoney } from '../../components/format.ts'
import { PrintButtons } from '../../components/layout/print-buttons.tsx'
import { PrintFrame } from '../../components/layout/print-frame.tsx'
import { DescriptionList, Page } from '../../components/layout/page.tsx'
import { formatExactTime } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { useMessages } from '../../locales/messages.ts'

const route = getRouteApi('/shell/billing/orders/$id/receipt')

function receiptQuery(id: string) {
  return queryOptions({
    queryKey: ['account', 'receipt', id],
    queryFn: () => get<Receipt>(`/console/billing/orders/${encodeURIComponent(id)}/receipt`),
  })
}

export function ReceiptPage() {
  const { id } = route.useParams()
  const t = useMessages('invoices').receipt
  return (
    <QueryBoundary options={receiptQuery(id)} title={t.title} notFound={useMessages('payments').notFound}>
      {(receipt) => <ReceiptContent receipt={receipt} />}
    </QueryBoundary>
  )
}

function ReceiptContent({ receipt }: { readonly receipt: Receipt }) {
  const t = useMessages('invoices').receipt
  const payments = useMessages('payments')
  const { account, buyer, currency, platform_currency: platform, timezone } = receipt
  const timeOf = (at: string): string => formatExactTime(at, timezone)
  const rows = [
    { name: t.paid, amount: formatMoney(receipt.amount, currency) },
    { name: t.fee, amount: formatMoney(receipt.fee, currency) },
    { name: t.credit, amount: formatMoney(receipt.credit, platform) },
    ...(receipt.bonus === '0' ? [] : [{ name: t.bonus, amount: formatMoney(receipt.bonus, platform) }]),
    ...receipt.refunds.map(({ date, amount }) => ({
      name: t.refund(timeOf(date)),
      amount: formatMoney(`-${amount}`, currency),
    })),
    { name: t.remaining, amount: formatMoney(receipt.remaining, currency) },
  ]
  return (
    <PrintFrame>
      <Page
        title={t.title}
        actions={<PrintButtons pdf={`/console/billing/orders/${receipt.number}/receipt.pdf`} />}
      >
        <DescriptionList
          items={[
            [t.number, receipt.number],
            [t.date, `${timeOf(receipt.date)} (${timezone})`],
            [t.account, account.name === '' ? account.email : `${account.name} (${account.email})`],
            ...(buyer === null
              ? []
              : ([[t.buyer, [buyer.title, buyer.tax_number ?? ''].join(' ').trim()]] as const)),
            [payments.method, payments.methods[receipt.method]],
            [payments.transaction, receipt.transaction],
          ]}
        />
        <Table
          label={t.amounts}
          rows={rows}
          rowId={({ name }) => name}
          columns={[
            { header: t.item, primary: true, cell: ({ name }) => name },
            {
              header: payments.amount,
              numeric: true,
              cell: ({ amount }) => <span className="num">{amount}</span>,
            },
          ]}
        />
      </Page>
    </PrintFrame>
  )
}
