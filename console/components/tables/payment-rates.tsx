/** Rates into the platform's currency: what applies now, later, and what applied before. */
import type { PaymentRate } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { StatusLabel } from './format-cells.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

export function RateTable({ rates }: { readonly rates: readonly PaymentRate[] }) {
  const all = useMessages('payments')
  const t = all.operations.rates
  if (rates.length === 0) return <p className="muted">{t.none}</p>
  return (
    <Table
      label={t.title}
      rows={rates}
      rowId={({ from, effective_from: at }) => `${from} ${at}`}
      columns={[
        { header: t.from, primary: true, cell: ({ from }) => from },
        { header: t.rate, numeric: true, cell: ({ from, to, rate }) => `1 ${from} = ${rate} ${to}` },
        { header: t.effective, cell: ({ effective_from: at }) => <LogTime at={at} /> },
        {
          header: all.state,
          cell: ({ state }) => (
            <StatusLabel tone={state === 'current' ? 'success' : 'neutral'}>{t.states[state]}</StatusLabel>
          ),
        },
      ]}
    />
  )
}
