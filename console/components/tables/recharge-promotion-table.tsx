/** Promotions of recharges, for operators: tiers, what is used, and the end. */
import type { RechargePromotion } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatMoney } from '../format.ts'
import { BonusTiers } from './bonus-tiers.tsx'
import { Money, StatusLabel, useCurrency } from './format-cells.tsx'
import { usePromotionStatus } from './promotion-status.ts'
import { RowMenu } from './row-menu.tsx'
import { Table } from './table.tsx'
import { ExpiryDate } from './time-cells.tsx'

interface RechargePromotionTableProps {
  readonly promotions: readonly RechargePromotion[]
  readonly edit: (promotion: RechargePromotion) => void
}

export function RechargePromotionTable({ promotions, edit }: RechargePromotionTableProps) {
  const t = useMessages('payments').promotions
  const trial = useMessages('catalog').promotions
  const shell = useMessages('shell')
  const currency = useCurrency()
  const status = usePromotionStatus()
  const pause = (promotion: RechargePromotion): void =>
    status.pause(promotion, [t.pauseEffect, t.usedSoFar(formatMoney(promotion.used, currency))])
  return (
    <Table
      label={t.title}
      rows={promotions}
      rowId={({ id }) => id}
      onRowClick={edit}
      columns={[
        { header: trial.name, primary: true, cell: ({ name }) => name },
        {
          header: trial.state,
          cell: ({ state }) => (
            <StatusLabel tone={state === 'running' ? 'success' : 'neutral'}>
              {trial.states[state]}
            </StatusLabel>
          ),
        },
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
        { header: trial.ends, cell: ({ ends_at: at }) => <ExpiryDate at={at} /> },
        {
          header: trial.actions,
          isMenu: true,
          cell: (promotion) => (
            <RowMenu
              name={promotion.name}
              actions={[
                { label: shell.edit, onClick: () => edit(promotion) },
                promotion.status === 'active'
                  ? { label: trial.pause, onClick: () => pause(promotion) }
                  : { label: trial.resume, onClick: () => status.resume(promotion) },
              ]}
            />
          ),
        },
      ]}
    />
  )
}
