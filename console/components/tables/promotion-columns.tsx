/** The columns that both kinds of promotions have; the last one pauses and resumes each, with a way back. */
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { Promotion, RechargePromotion } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { actWithToast } from '../feedback/toast.tsx'
import { StatusLabel } from './format-cells.tsx'
import { RowMenu } from './row-menu.tsx'
import type { Column } from './table.tsx'
import { ExpiryDate } from './time-cells.tsx'

interface PromotionColumnsOptions<Kind> {
  readonly edit: (promotion: Kind) => void
  /** Sentences that say what pausing does, and what was given so far. */
  readonly pauseEffects: (promotion: Kind) => readonly string[]
}

export function usePromotionColumns<Kind extends Promotion | RechargePromotion>({
  edit,
  pauseEffects,
}: PromotionColumnsOptions<Kind>) {
  const t = useMessages('catalog').promotions
  const shell = useMessages('shell')
  const setStatus = (id: string, status: 'active' | 'paused') => () =>
    mutateAdmin('PATCH', `/promotions/${id}`, { status })
  const pause = (promotion: Kind): void =>
    confirm({
      title: t.pauseTitle(promotion.name),
      description: pauseEffects(promotion).join(shell.sentenceGap),
      confirmLabel: t.pause,
      onConfirm: setStatus(promotion.id, 'paused'),
      successMessage: t.paused,
      undo: setStatus(promotion.id, 'active'),
    })
  const resume = ({ id }: Kind): void =>
    void actWithToast(setStatus(id, 'active'), t.resumed, { undo: setStatus(id, 'paused') })
  return {
    name: { header: t.name, primary: true, cell: ({ name }) => name },
    state: {
      header: t.state,
      cell: ({ state }) => (
        <StatusLabel tone={state === 'running' ? 'success' : 'neutral'}>{t.states[state]}</StatusLabel>
      ),
    },
    ends: { header: t.ends, cell: ({ ends_at: at }) => <ExpiryDate at={at} /> },
    actions: {
      header: t.actions,
      isMenu: true,
      cell: (promotion) => (
        <RowMenu
          name={promotion.name}
          actions={[
            { label: shell.edit, onClick: () => edit(promotion) },
            promotion.status === 'active'
              ? { label: t.pause, onClick: () => pause(promotion) }
              : { label: t.resume, onClick: () => resume(promotion) },
          ]}
        />
      ),
    },
  } satisfies Record<string, Column<Kind>>
}
