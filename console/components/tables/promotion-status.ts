/** Pauses and resumes promotions, of either kind, each with a way back. */
import { mutateAdmin } from '../../api/admin-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { actWithToast } from '../feedback/toast.tsx'

interface NamedPromotion {
  readonly id: string
  readonly name: string
}

export function usePromotionStatus() {
  const t = useMessages('catalog').promotions
  const shell = useMessages('shell')
  const setStatus = (id: string, status: 'active' | 'paused') => () =>
    mutateAdmin('PATCH', `/promotions/${id}`, { status })
  return {
    /** `effects`: sentences that say what pausing does, and what was given so far. */
    pause: ({ id, name }: NamedPromotion, effects: readonly string[]): void =>
      confirm({
        title: t.pauseTitle(name),
        description: effects.join(shell.sentenceGap),
        confirmLabel: t.pause,
        onConfirm: setStatus(id, 'paused'),
        successMessage: t.paused,
        undo: setStatus(id, 'active'),
      }),
    resume: ({ id }: NamedPromotion): void =>
      void actWithToast(setStatus(id, 'active'), t.resumed, { undo: setStatus(id, 'paused') }),
  }
}
