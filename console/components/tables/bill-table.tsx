/** A bill that adds up on the screen: count × price = amount, factor, rounding, what was held and what was charged. */
import type { ReactNode } from 'react'
import type { Bill } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { numberText } from '../format.ts'
import { Money } from './format-cells.tsx'

export function BillTable({ bill }: { readonly bill: Bill }) {
  const words = useWords('account').bill
  const isScaled = bill.factor !== '1'
  return (
    <div className="table-box">
      <table className="table bill" aria-label={words.title}>
        <thead>
          <tr>
            <th scope="col">{words.what}</th>
            <th scope="col" className="figures">
              {words.count}
            </th>
            <th scope="col" className="figures">
              {words.price}
            </th>
            <th scope="col" className="figures">
              {words.amount}
            </th>
          </tr>
        </thead>
        <tbody>
          {bill.lines.map(({ kind, count, price, amount }) => (
            <tr key={kind}>
              <td className="names" data-label={words.what}>
                {words.kinds[kind]}
              </td>
              <td className="figures" data-label={words.count}>
                {numberText(count)}
              </td>
              <td className="figures" data-label={words.price}>
                <span>
                  <Money amount={price} />{' '}
                  <span className="quiet">
                    {kind === 'request' || kind === 'search' ? words.each : words.perThousand}
                  </span>
                </span>
              </td>
              <td className="figures" data-label={words.amount}>
                <Money amount={amount} />
              </td>
            </tr>
          ))}
          <Sum name={words.sum}>
            <Money amount={bill.sum} />
          </Sum>
          {isScaled && (
            <Sum name={`${words.factor} × ${bill.factor}`}>
              <Money amount={bill.exact} />
            </Sum>
          )}
          {Number(bill.rounding) !== 0 && (
            <Sum name={words.rounding}>
              <Money amount={bill.rounding} />
            </Sum>
          )}
          {Number(bill.waived) !== 0 && (
            <Sum name={words.waived}>
              <Money amount={`-${bill.waived}`} />
            </Sum>
          )}
        </tbody>
        <tfoot>
          <Sum name={words.charged}>
            <Money amount={bill.charged} />
          </Sum>
        </tfoot>
      </table>
      <p className="quiet bill-foot">
        {words.held} <Money amount={bill.hold} /> → <Money amount={bill.charged} />
        {bill.balance_before !== null && bill.balance_after !== null && (
          <>
            {' · '}
            {words.balance} <Money amount={bill.balance_before} /> → <Money amount={bill.balance_after} />
          </>
        )}
        {bill.price_version !== null && ` · ${words.version(bill.price_version)}`}
      </p>
    </div>
  )
}

function Sum({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <tr className="sum">
      <td colSpan={3} className="names">
        {name}
      </td>
      <td className="figures" data-label={name}>
        {children}
      </td>
    </tr>
  )
}
