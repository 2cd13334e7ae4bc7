/** What payments brought, by month and method. */
import type { PaymentRevenue } from '../../api/contract.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { PagedList } from '../feedback/query-boundary.tsx'
import { formatMonth, formatNumber } from '../format.ts'
import { Money } from './format-cells.tsx'
import { PaidAmount } from './payment-cells.tsx'
import { Table, type Column } from './table.tsx'

export function RevenueTable() {
  const all = useMessages('payments')
  const t = all.operations.revenue
  const language = useLanguage()
  const amountColumn = (header: string, field: 'amount' | 'fees' | 'refunds' | 'net') =>
    ({
      header,
      numeric: true,
      cell: (row) => <PaidAmount amount={row[field]} currency={row.currency} />,
    }) satisfies Column<PaymentRevenue>
  return (
    <PagedList<PaymentRevenue>
      queryKey={['admin', 'payment-revenue']}
      path="/admin/payments/revenue"
      limit={20}
      empty={<p className="muted">{t.none}</p>}
    >
      {(rows) => (
        <Table
          label={t.title}
          rows={rows}
          rowId={({ month, method, currency }) => `${month} ${method} ${currency}`}
          columns={[
            { header: t.month, cell: ({ month }) => formatMonth(month, language) },
            { header: all.method, primary: true, cell: ({ method }) => all.methods[method] },
            { header: t.payments, numeric: true, cell: ({ payments }) => formatNumber(payments) },
            amountColumn(t.paid, 'amount'),
            amountColumn(t.fees, 'fees'),
            amountColumn(t.refunds, 'refunds'),
            amountColumn(t.net, 'net'),
            { header: all.credit, numeric: true, cell: ({ credit }) => <Money amount={credit} /> },
            {
              header: t.bonus,
              numeric: true,
              wideOnly: true,
              cell: ({ bonus }) => <Money amount={bonus} />,
            },
          ]}
        />
      )}
    </PagedList>
  )
}
