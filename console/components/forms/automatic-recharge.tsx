/** A customer’s automatic recharge: its state, its amounts, the consent, and the saved card. */
import { Button, Checkbox } from '@mantine/core'
import { useState } from 'react'
import { automaticRechargeQuery, mutateAccount } from '../../api/account-queries.ts'
import type { OwnAutomaticRecharge, PaymentMethod } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { ErrorMessage } from '../feedback/empty-state.tsx'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { showToast } from '../feedback/toast.tsx'
import { formatMoney } from '../format.ts'
import { Section } from '../layout/page.tsx'
import { AutomaticRechargeFacts } from '../tables/automatic-recharge-facts.tsx'
import { useCurrency } from '../tables/format-cells.tsx'
import { isDecimal } from './field-values.ts'
import { MoneyField, useDraft } from './fields.tsx'
import { submitHandler, useAction, useFieldError } from './use-action.ts'

/** Of `consentText` in the messages: a changed text needs another version, here and at the server. */
const textVersion: OwnAutomaticRecharge['consent_version'] = '2026-11-28'

/** `method`: that saves cards. */
export function AutomaticRechargeSection({ method }: { readonly method: PaymentMethod }) {
  const t = useMessages('payments').automatic
  return (
    <Section title={t.title} lead={t.lead}>
      <QueryBoundary options={automaticRechargeQuery}>
        {(recharge) => (
          <>
            {recharge.method !== null && <AutomaticRechargeFacts recharge={recharge} />}
            <Actions recharge={recharge} />
            <ConsentForm recharge={recharge} currency={method.currency ?? ''} />
          </>
        )}
      </QueryBoundary>
    </Section>
  )
}

function Actions({ recharge: { consent, card } }: { readonly recharge: OwnAutomaticRecharge }) {
  const t = useMessages('payments').automatic
  const switchOff = (): void =>
    confirm({
      title: t.switchOff,
      description: t.switchOffEffect,
      confirmLabel: t.switchOff,
      onConfirm: () => mutateAccount('DELETE', '/auto-recharge'),
      successMessage: t.switchedOff,
    })
  const removeCard = (): void =>
    confirm({
      title: t.removeCard,
      description: t.removeCardEffect,
      confirmLabel: t.removeCard,
      onConfirm: () => mutateAccount('DELETE', '/auto-recharge/card'),
      successMessage: t.cardRemoved,
    })
  if (consent === null && card === null) return null
  return (
    <div className="row">
      {consent !== null && (
        <Button variant="default" onClick={switchOff}>
          {t.switchOff}
        </Button>
      )}
      {card !== null && (
        <Button variant="default" onClick={removeCard}>
          {t.removeCard}
        </Button>
      )}
    </div>
  )
}

interface ConsentFormProps {
  readonly recharge: OwnAutomaticRecharge
  /** Of the method. */
  readonly currency: string
}

function ConsentForm({ recharge, currency }: ConsentFormProps) {
  const t = useMessages('payments').automatic
  const platformCurrency = useCurrency()
  const { draft, field } = useDraft({
    threshold: recharge.threshold ?? '',
    amount: recharge.amount ?? '',
    monthly_limit: recharge.monthly_limit ?? '',
  })
  const consentText = [draft.threshold, draft.amount, draft.monthly_limit].every(isDecimal)
    ? t.consentText(
        formatMoney(draft.threshold.trim(), platformCurrency),
        formatMoney(draft.amount.trim(), currency),
        formatMoney(draft.monthly_limit.trim(), currency),
      )
    : null
  // Other amounts are another text, to which nobody has agreed yet.
  const [agreedText, setAgreedText] = useState<string | null>(null)
  const agrees = consentText !== null && agreedText === consentText
  const save = useAction(async () => {
    const saved = await mutateAccount<OwnAutomaticRecharge>('PUT', '/auto-recharge', {
      threshold: draft.threshold.trim(),
      amount: draft.amount.trim(),
      monthly_limit: draft.monthly_limit.trim(),
      consent_version: textVersion,
    })
    setAgreedText(null)
    showToast(saved.state === 'on' ? t.turnedOn : t.waitsForCard)
  })
  const fieldError = useFieldError(save.error)
  const isInline = ['threshold', 'amount', 'monthly_limit'].includes(save.error?.param ?? '')
  return (
    <form className="panel stack" onSubmit={submitHandler(save.run)}>
      <div className="fields">
        <MoneyField label={t.threshold} required error={fieldError('threshold')} {...field('threshold')} />
        <MoneyField
          label={t.amount}
          currency={currency}
          required
          error={fieldError('amount')}
          {...field('amount')}
        />
        <MoneyField
          label={t.monthlyLimit}
          currency={currency}
          required
          error={fieldError('monthly_limit')}
          {...field('monthly_limit')}
        />
      </div>
      {consentText !== null && (
        <Checkbox
          label={consentText}
          checked={agrees}
          onChange={(event) => setAgreedText(event.currentTarget.checked ? consentText : null)}
        />
      )}
      {recharge.card === null && <p className="muted">{t.needsCard}</p>}
      {save.error && !isInline && <ErrorMessage error={save.error} />}
      <div className="row">
        <Button type="submit" loading={save.isRunning} disabled={!agrees}>
          {recharge.consent === null ? t.turnOn : t.change}
        </Button>
      </div>
    </form>
  )
}
