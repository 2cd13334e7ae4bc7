/** The bill of a request, which adds up on screen: count × price = amount, factor, rounding, hold and charge. */
import type { ReactNode } from 'react'
import type { Bill } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatNumber } from '../format.ts'
import { Money } from './format-cells.tsx'
import { toolLabel } from '../forms/price-text.ts'

export function BillTable({ bill }: { readonly bill: Bill }) {
  const t = useMessages('prices').bill
  const isScaled = bill.factor !== '1'
  return (
    <div className="table-container">
      <table className="table bill" aria-label={t.title}>
        <thead>
          <tr>
            <th scope="col">{t.item}</th>
            <th scope="col" className="numeric">
              {t.count}
            </th>
            <th scope="col" className="numeric">
              {t.price}
            </th>
            <th scope="col" className="numeric">
              {t.amount}
            </th>
          </tr>
        </thead>
        <tbody>
          {bill.lines.map(({ kind, tool, quality, size, count, price, amount }) => (
            <tr key={tool === undefined ? kind : toolLabel({ tool, quality, size })}>
              <td className="primary" data-label={t.item}>
                {tool === undefined ? t.kinds[kind] : t.tool(toolLabel({ tool, quality, size }))}
              </td>
              <td className="numeric" data-label={t.count}>
                {formatNumber(count)}
              </td>
              <td className="numeric" data-label={t.price}>
                <span>
                  <Money amount={price} />{' '}
                  <span className="muted">
                    {kind === 'request' || kind === 'search' || kind === 'tool' ? t.each : t.perThousand}
                  </span>
                </span>
              </td>
              <td className="numeric" data-label={t.amount}>
                <Money amount={amount} />
              </td>
            </tr>
          ))}
          <SumRow name={t.sum}>
            <Money amount={bill.sum} />
          </SumRow>
          {isScaled && (
            <SumRow name={`${t.factor} × ${bill.factor}`}>
              <Money amount={bill.exact} />
            </SumRow>
          )}
          {Number(bill.rounding) !== 0 && (
            <SumRow name={t.rounding}>
              <Money amount={bill.rounding} />
            </SumRow>
          )}
          {Number(bill.waived) !== 0 && (
            <SumRow name={t.waived}>
              <Money amount={`-${bill.waived}`} />
            </SumRow>
          )}
        </tbody>
        <tfoot>
          <SumRow name={t.charged}>
            <Money amount={bill.charged} />
          </SumRow>
        </tfoot>
      </table>
      <div className="muted bill-footer">
        <p>
          {t.held} <Money amount={bill.hold} />
          {t.thenCharged} <Money amount={bill.charged} />
          {bill.price_version !== null && ` · ${t.version(bill.price_version)}`}
          {bill.service_tier !== 'default' && ` · ${t.tier(bill.service_tier, bill.tier_factor)}`}
        </p>
        {bill.balance_before !== null && bill.balance_after !== null && (
          <p>
            {t.balance} <Money amount={bill.balance_before} /> → <Money amount={bill.balance_after} />
          </p>
        )}
      </div>
    </div>
  )
}

function SumRow({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <tr className="sum">
      <td colSpan={3} className="primary">
        {name}
      </td>
      <td className="numeric" data-label={name}>
        {children}
      </td>
    </tr>
  )
}
