/** What an upstream charges: prices in its own currency, as form fields and as text. */
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Upstream } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useCurrency } from '../tables/format-cells.tsx'
import { isDecimal } from './field-values.ts'
import { AmountField } from './fields.tsx'
import { PricePair, PriceInputs, priceDraftFrom, pricesFromDraft, type PriceDraft } from './price-fields.tsx'

export type Costs = NonNullable<Upstream['prices']>
export type CostDraft = PriceDraft & { currency: string; rate: string }

export function costDraftFrom(costs: Costs | null): CostDraft {
  return { ...priceDraftFrom(costs), currency: costs?.currency ?? '', rate: costs?.rate ?? '' }
}

/** The API's representation; null without any price. */
export function costsFromDraft(draft: CostDraft) {
  const prices = pricesFromDraft(draft)
  if (Object.keys(prices).length === 0) return null
  const [currency, rate] = [draft.currency.trim(), draft.rate.trim()]
  return { ...prices, ...(currency === '' ? {} : { currency }), ...(rate === '' ? {} : { rate }) }
}

export interface CostFieldsProps {
  readonly draft: CostDraft
  readonly set: (name: keyof CostDraft, value: string) => void
  readonly lead: string
  /** What applies if all fields are empty. */
  readonly whenEmpty: string
}

/** Folded, with the cost in the summary. */
export function CostFields({ draft, set, lead, whenEmpty }: CostFieldsProps) {
  const t = useMessages('catalog').costs
  const platformCurrency = useCurrency()
  const [isOpen, setOpen] = useState(false)
  const costs = costsFromDraft(draft)
  return (
    <details
      className="disclosure route-option"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {t.summary}
        {costs === null ? whenEmpty : <CostPair costs={costs} />}
      </summary>
      {isOpen && (
        <div className="stack" role="group" aria-label={t.legend}>
          <p className="muted">{lead}</p>
          <PriceInputs draft={draft} set={set} isRequired={costs !== null} fieldError={() => undefined} />
          {draft.free === '' && (
            <div className="fields">
              <TextInput
                label={t.currency}
                placeholder={platformCurrency}
                autoComplete="off"
                value={draft.currency}
                onChange={(event) => set('currency', event.currentTarget.value)}
              />
              {draft.currency !== '' && (
                <AmountField
                  label={t.rate}
                  description={t.rateHint}
                  name="rate"
                  required
                  value={draft.rate}
                  error={isDecimal(draft.rate) ? undefined : ' '}
                  onChange={(event) => set('rate', event.currentTarget.value)}
                />
              )}
            </div>
          )}
        </div>
      )}
    </details>
  )
}

export interface CostPairProps {
  readonly costs: Omit<Costs, 'currency' | 'rate'> & { currency?: string | null }
}

/** `¥0.002 / ¥0.008`, or `0.002 / 0.008 USD` in another currency. */
export function CostPair({ costs }: CostPairProps) {
  const currency = costs.currency ?? ''
  if (currency === '' || costs.free === true) return <PricePair prices={costs} />
  return <span className="num nowrap">{`${costs.input ?? '0'} / ${costs.output ?? '0'} ${currency}`}</span>
}
