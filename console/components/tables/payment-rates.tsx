/** Rates into the platform's currency: what applies now, later, and what applied before. */
import type { PaymentRate } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { StatusLabel } from './format-cells.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

/** `rates`: newest first. */
export function rateState(
  rate: PaymentRate,
  rates: readonly PaymentRate[],
  now: number,
): 'scheduled' | 'current' | 'past' {
  const hasBegun = ({ effective_from: from }: PaymentRate): boolean => Date.parse(from) <= now
  if (!hasBegun(rate)) return 'scheduled'
  return rates.find((each) => each.from === rate.from && hasBegun(each)) === rate ? 'current' : 'past'
}

export function RateTable({ rates }: { readonly rates: readonly PaymentRate[] }) {
  const t = useMessages('payments').operations.rates
  const { state } = useMessages('payments')
  if (rates.length === 0) return <p className="muted">{t.none}</p>
  const now = Date.now()
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
          header: state,
          cell: (rate) => {
            const stateNow = rateState(rate, rates, now)
            return (
              <StatusLabel tone={stateNow === 'current' ? 'success' : 'neutral'}>
                {t.states[stateNow]}
              </StatusLabel>
            )
          },
        },
      ]}
    />
  )
}
