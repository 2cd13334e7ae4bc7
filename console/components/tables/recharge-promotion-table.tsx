/** Promotions of recharges, for operators: tiers, what is used, and the end. */
import type { RechargePromotion } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatMoney } from '../format.ts'
import { BonusTiers } from './bonus-tiers.tsx'
import { Money, useCurrency } from './format-cells.tsx'
import { usePromotionColumns } from './promotion-columns.tsx'
import { Table } from './table.tsx'

interface RechargePromotionTableProps {
  readonly promotions: readonly RechargePromotion[]
  readonly edit: (promotion: RechargePromotion) => void
}

export function RechargePromotionTable({ promotions, edit }: RechargePromotionTableProps) {
  const t = useMessages('payments').promotions
  const shell = useMessages('shell')
  const currency = useCurrency()
  const { name, state, ends, actions } = usePromotionColumns<RechargePromotion>({
    edit,
    pauseEffects: ({ used }) => [t.pauseEffect, t.usedSoFar(formatMoney(used, currency))],
  })
  return (
    <Table
      label={t.title}
      rows={promotions}
      rowId={({ id }) => id}
      onRowClick={edit}
      columns={[
        name,
        state,
        {
          header: t.tiers,
          cell: ({ tiers, first_only: isFirstOnly }) => (
            <>
              <BonusTiers tiers={tiers} />
              {isFirstOnly && <small>{t.firstOnly}</small>}
            </>
          ),
        },
        { header: t.used, numeric: true, cell: ({ used }) => <Money amount={used} /> },
        {
          header: t.budget,
          numeric: true,
          cell: ({ budget }) => (budget === null ? shell.unlimited : <Money amount={budget} />),
        },
        {
          header: t.perAccount,
          numeric: true,
          wideOnly: true,
          cell: ({ per_account: limit }) => (limit === null ? shell.unlimited : <Money amount={limit} />),
        },
        ends,
        actions,
      ]}
    />
  )
}
