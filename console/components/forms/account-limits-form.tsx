/** An account's tier, rate limits, caps, price factor and time zone. */
import { useQuery } from '@tanstack/react-query'
import { TextInput } from '@mantine/core'
import { mutateAdmin, tiersQuery } from '../../api/admin-queries.ts'
import type { Account } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from './use-action.ts'
import { changedFields, optionalInteger, optionalText, previousFields, undoOf } from './field-values.ts'
import { AmountField, SelectField, Form, useDraft } from './fields.tsx'
import { limitNames } from './limit-fields.tsx'
import { showToast } from '../feedback/toast.tsx'

export interface AccountLimitsFormProps {
  readonly account: Account
  readonly close: () => void
}

function draftFrom(account: Account) {
  return {
    tier: account.tier,
    daily: account.caps.daily ?? '',
    monthly: account.caps.monthly ?? '',
    rpm: String(account.limits.rpm ?? ''),
    tpm: String(account.limits.tpm ?? ''),
    rpd: String(account.limits.rpd ?? ''),
    concurrency: String(account.limits.concurrency ?? ''),
    price_factor: account.price_factor ?? '',
    timezone: account.timezone,
  }
}

function bodyFrom(draft: ReturnType<typeof draftFrom>) {
  return {
    tier: draft.tier,
    caps: { daily: optionalText(draft.daily), monthly: optionalText(draft.monthly) },
    // Empty inherits the tier's limit; `unlimited` removes it.
    limits: Object.fromEntries(limitNames.map((name) => [name, optionalInteger(draft[name])])) as object,
    price_factor: optionalText(draft.price_factor),
    timezone: draft.timezone.trim(),
  }
}

export function AccountLimitsForm({ account, close }: AccountLimitsFormProps) {
  const t = useMessages('customers').limits
  const shell = useMessages('shell')
  const tiers = useQuery(tiersQuery).data?.data ?? []
  const { draft, initialDraft, field } = useDraft(draftFrom(account))
  const save = useAction(async () => {
    const changes = changedFields(bodyFrom(initialDraft), bodyFrom(draft))
    const patch = (body: unknown): Promise<unknown> => mutateAdmin('PATCH', `/accounts/${account.id}`, body)
    await patch(changes)
    showToast(shell.saved, { undo: undoOf(changes, () => patch(previousFields(account, changes))) })
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={shell.save}
      cancel={close}
      inlineErrors={['tier', 'caps', 'limits', 'price_factor', 'timezone']}
    >
      <div className="fields">
        <SelectField
          label={t.tier}
          options={tiers.map(({ name }) => ({ value: name, label: name }))}
          error={fieldError('tier')}
          {...field('tier')}
        />
        <AmountField
          label={t.factor}
          placeholder={t.inherited}
          error={fieldError('price_factor')}
          {...field('price_factor')}
        />
        <AmountField
          label={t.daily}
          placeholder={shell.none}
          error={fieldError('caps.daily')}
          {...field('daily')}
        />
        <AmountField
          label={t.monthly}
          placeholder={shell.none}
          error={fieldError('caps.monthly')}
          {...field('monthly')}
        />
      </div>
      <p className="muted">{t.capsLead}</p>
      <fieldset className="field-group">
        <legend>{t.accountLimits}</legend>
        <p className="muted">{t.accountLimitsLead}</p>
        <div className="fields">
          {limitNames.map((name) => (
            <TextInput
              key={name}
              label={shell.limits[name]}
              placeholder={t.inherited}
              autoComplete="off"
              error={fieldError(`limits.${name}`)}
              {...field(name)}
            />
          ))}
        </div>
      </fieldset>
      <TextInput
        label={t.timezone}
        description={t.timezoneHint}
        required
        autoComplete="off"
        error={fieldError('timezone')}
        {...field('timezone')}
      />
    </Form>
  )
}
