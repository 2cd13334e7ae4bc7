/** The form of a promotion of recharges. Once it is created, only its name and its end can be changed. */
import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { RechargePromotion } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { showToast } from '../feedback/toast.tsx'
import {
  changedFields,
  dateText,
  endOfDay,
  isDecimal,
  optionalText,
  previousFields,
  startOfDay,
  undoOf,
} from './field-values.ts'
import { AmountField, Form, MoneyField, useDraft } from './fields.tsx'
import { RemoveRowButton, rowChanges, RowGroup } from './row-group.tsx'
import { useAction, useFieldError } from './use-action.ts'

interface TierDraft {
  readonly min: string
  readonly kind: 'percent' | 'fixed'
  readonly value: string
  readonly max: string
}

const emptyTier: TierDraft = { min: '', kind: 'percent', value: '', max: '' }

const tierFrom = ({ min, kind, value, max }: TierDraft) => ({
  min: min.trim(),
  [kind]: value.trim(),
  ...(kind === 'percent' && max.trim() !== '' ? { max: max.trim() } : {}),
})

interface RechargePromotionFormProps {
  /** null: a new one. */
  readonly promotion: RechargePromotion | null
  readonly close: () => void
}

export function RechargePromotionForm({ promotion, close }: RechargePromotionFormProps) {
  const t = useMessages('payments').promotions
  const trial = useMessages('catalog').promotions
  const shell = useMessages('shell')
  const [tiers, setTiers] = useState<readonly TierDraft[]>([emptyTier])
  const { draft, initialDraft, set, field } = useDraft({
    name: promotion?.name ?? '',
    starts: '',
    ends: dateText(promotion?.ends_at),
    first_only: '',
    budget: '',
    per_account: '',
  })
  const save = useAction(async () => {
    const bodyFrom = ({ name, ends }: typeof draft) => ({ name: name.trim(), ends_at: endOfDay(ends) })
    if (promotion === null) {
      await mutateAdmin('POST', '/promotions', {
        ...bodyFrom(draft),
        on: 'recharge',
        ...(draft.starts === '' ? {} : { starts_at: startOfDay(draft.starts) }),
        tiers: tiers.map(tierFrom),
        first_only: draft.first_only !== '',
        budget: optionalText(draft.budget),
        per_account: optionalText(draft.per_account),
      })
      showToast(shell.saved)
    } else {
      const changes = changedFields(bodyFrom(initialDraft), bodyFrom(draft))
      const patch = (fields: unknown): Promise<unknown> =>
        mutateAdmin('PATCH', `/promotions/${promotion.id}`, fields)
      await patch(changes)
      showToast(shell.saved, { undo: undoOf(changes, () => patch(previousFields(promotion, changes))) })
    }
    close()
  })
  const errorOf = useFieldError(save.error)
  const areTiersReady = tiers.every(({ min, value }) => isDecimal(min) && isDecimal(value))
  return (
    <Form
      action={save}
      submitLabel={promotion === null ? t.add : shell.save}
      cancel={close}
      inlineErrors={[
        'name',
        'starts_at',
        'ends_at',
        'budget',
        'per_account',
        ...tiers.map((_tier, at) => `tiers[${at}]`),
      ]}
      isIncomplete={draft.name.trim() === '' || (promotion === null && !areTiersReady)}
    >
      <div className="fields">
        <TextInput
          label={trial.name}
          required
          autoComplete="off"
          error={errorOf('name')}
          {...field('name')}
        />
        {promotion === null && (
          <TextInput
            label={t.starts}
            description={t.startsHint}
            type="date"
            error={errorOf('starts_at')}
            {...field('starts')}
          />
        )}
        <TextInput label={trial.ends} type="date" error={errorOf('ends_at')} {...field('ends')} />
      </div>
      {promotion === null ? (
        <>
          <TierFields tiers={tiers} set={setTiers} errorOf={errorOf} />
          <div className="fields">
            <MoneyField
              label={t.budget}
              placeholder={shell.unlimited}
              error={errorOf('budget')}
              {...field('budget')}
            />
            <MoneyField
              label={t.perAccount}
              placeholder={shell.unlimited}
              error={errorOf('per_account')}
              {...field('per_account')}
            />
          </div>
          <Checkbox
            label={t.firstOnly}
            checked={draft.first_only !== ''}
            onChange={(event) => set('first_only', event.currentTarget.checked ? 'yes' : '')}
          />
        </>
      ) : (
        <p className="muted">{t.fixedParts}</p>
      )}
    </Form>
  )
}

interface TierFieldsProps {
  readonly tiers: readonly TierDraft[]
  readonly set: (tiers: readonly TierDraft[]) => void
  readonly errorOf: (...params: string[]) => string | undefined
}

function TierFields({ tiers, set, errorOf }: TierFieldsProps) {
  const t = useMessages('payments').promotions
  const { change, remove } = rowChanges(tiers, set)
  const bind = (at: number, name: 'min' | 'value' | 'max') => ({
    name: `tiers[${at}].${name}`,
    value: tiers[at]?.[name] ?? '',
    onChange: (event: { currentTarget: { value: string } }) =>
      change(at, { [name]: event.currentTarget.value }),
  })
  return (
    <RowGroup legend={t.tiers} addLabel={t.addTier} add={() => set([...tiers, emptyTier])}>
      {tiers.map(({ kind }, at) => {
        const value = {
          label: t.value,
          required: true,
          error: errorOf(`tiers[${at}].fixed`, `tiers[${at}].percent`),
          ...bind(at, 'value'),
        }
        return (
          <div className="route-row" key={at}>
            <MoneyField label={t.min} required error={errorOf(`tiers[${at}].min`)} {...bind(at, 'min')} />
            <NativeSelect
              label={t.kind}
              data={(['percent', 'fixed'] as const).map((each) => ({ value: each, label: t.kinds[each] }))}
              value={kind}
              onChange={(event) =>
                change(at, { kind: event.currentTarget.value === 'fixed' ? 'fixed' : 'percent' })
              }
            />
            {kind === 'fixed' ? (
              <MoneyField {...value} />
            ) : (
              <AmountField {...value} leftSection={<span className="muted">%</span>} />
            )}
            {kind === 'percent' && (
              <MoneyField label={t.max} error={errorOf(`tiers[${at}].max`)} {...bind(at, 'max')} />
            )}
            {tiers.length > 1 && <RemoveRowButton label={t.removeTier} remove={() => remove(at)} />}
          </div>
        )
      })}
    </RowGroup>
  )
}
