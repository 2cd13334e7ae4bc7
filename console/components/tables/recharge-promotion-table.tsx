/** Promotions of recharges, for operators: tiers, what is used, and the end. */
import type { RechargePromotion } from '../../api/contract.ts'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { actWithToast } from '../feedback/toast.tsx'
import { formatMoney } from '../format.ts'
import { BonusTiers } from './bonus-tiers.tsx'
import { Money, StatusLabel, useCurrency } from './format-cells.tsx'
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
  const setStatus = (id: string, status: RechargePromotion['status']) => () =>
    mutateAdmin('PATCH', `/promotions/${id}`, { status })
  const pause = ({ id, name, used }: RechargePromotion): void =>
    confirm({
      title: trial.pauseTitle(name),
      description: [t.pauseEffect, t.usedSoFar(formatMoney(used, currency))].join(shell.sentenceGap),
      confirmLabel: trial.pause,
      onConfirm: setStatus(id, 'paused'),
      successMessage: trial.paused,
      undo: setStatus(id, 'active'),
    })
  const resume = ({ id }: RechargePromotion): void =>
    void actWithToast(setStatus(id, 'active'), trial.resumed, { undo: setStatus(id, 'paused') })
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
                  : { label: trial.resume, onClick: () => resume(promotion) },
              ]}
            />
          ),
        },
      ]}
    />
  )
}
