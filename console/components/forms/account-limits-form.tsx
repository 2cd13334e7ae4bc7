/** An account's tier, limits of its own, caps, price factor and time zone. */
import { useQuery } from '@tanstack/react-query'
import { TextInput } from '@mantine/core'
import { change, tiersQuery } from '../../api/admin-queries.ts'
import type { Account } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction, useFieldError } from './use-action.ts'
import { AmountField, Choice, Form, useDraft } from './fields.tsx'
import { limitNames } from './limit-fields.tsx'
import { say } from '../feedback/toast.tsx'

export interface LimitsFormProps {
  readonly account: Account
  readonly close: () => void
}

/** Empty is the tier's; a word for none at all. */
function limitOf(text: string): number | 'unlimited' | null {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return trimmed === 'unlimited' ? 'unlimited' : Number(trimmed)
}

export function LimitsForm({ account, close }: LimitsFormProps) {
  const words = useWords('clients').limits
  const shell = useWords('shell')
  const tiers = useQuery(tiersQuery).data?.data ?? []
  const { draft, field } = useDraft({
    tier: account.tier,
    daily: account.caps.daily ?? '',
    monthly: account.caps.monthly ?? '',
    rpm: String(account.limits.rpm ?? ''),
    tpm: String(account.limits.tpm ?? ''),
    rpd: String(account.limits.rpd ?? ''),
    concurrency: String(account.limits.concurrency ?? ''),
    price_factor: account.price_factor ?? '',
    timezone: account.timezone,
  })
  const save = useAction(async () => {
    const amount = (text: string): string | null => (text.trim() === '' ? null : text.trim())
    const body = {
      tier: draft.tier,
      caps: { daily: amount(draft.daily), monthly: amount(draft.monthly) },
      limits: Object.fromEntries(limitNames.map((name) => [name, limitOf(draft[name])])) as object,
      price_factor: amount(draft.price_factor),
      timezone: draft.timezone.trim(),
    }
    await change('PATCH', `/accounts/${account.id}`, body)
    say(shell.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      action={save}
      verb={shell.save}
      cancel={close}
      beside={['tier', 'caps', 'limits', 'price_factor', 'timezone']}
    >
      <div className="fields">
        <Choice
          label={words.tier}
          choices={tiers.map(({ name }) => ({ value: name, label: name }))}
          error={errorOf('tier')}
          {...field('tier')}
        />
        <AmountField
          label={words.factor}
          placeholder={words.asTier}
          error={errorOf('price_factor')}
          {...field('price_factor')}
        />
        <AmountField
          label={words.daily}
          placeholder={shell.none}
          error={errorOf('caps.daily')}
          {...field('daily')}
        />
        <AmountField
          label={words.monthly}
          placeholder={shell.none}
          error={errorOf('caps.monthly')}
          {...field('monthly')}
        />
      </div>
      <p className="quiet">{words.capsLead}</p>
      <fieldset className="group">
        <legend>{words.own}</legend>
        <p className="quiet">{words.ownLead}</p>
        <div className="fields">
          {limitNames.map((name) => (
            <TextInput
              key={name}
              label={shell.limits[name]}
              placeholder={words.asTier}
              autoComplete="off"
              error={errorOf(`limits.${name}`)}
              {...field(name)}
            />
          ))}
        </div>
      </fieldset>
      <TextInput
        label={words.timezone}
        description={words.timezoneHint}
        required
        autoComplete="off"
        error={errorOf('timezone')}
        {...field('timezone')}
      />
    </Form>
  )
}
