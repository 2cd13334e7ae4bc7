/** The tiers of a bonus for recharges: “From ¥100.00: 5%, at most ¥50.00”. */
import type { RechargePromotion } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatMoney } from '../format.ts'
import { useCurrency } from './format-cells.tsx'

export function BonusTiers({ tiers }: Pick<RechargePromotion, 'tiers'>) {
  const t = useMessages('payments').promotions
  const currency = useCurrency()
  const money = (amount: string): string => formatMoney(amount, currency)
  return tiers.map(({ min, fixed, percent, max }) => {
    const bonus = fixed === undefined ? `${percent ?? ''}%` : money(fixed)
    const text = t.tier(money(min), max === undefined ? bonus : t.upTo(bonus, money(max)))
    return <div key={text}>{text}</div>
  })
}
