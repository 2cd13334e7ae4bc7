/** Prices per 1,000 tokens: as form fields, as text, and as a diff. */
import { Checkbox } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Model } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { AmountField } from './fields.tsx'
import { isDecimal } from './field-values.ts'
import { fromNanos, toNanos } from '../format.ts'
import { Money, UnknownAmount } from '../tables/format-cells.tsx'

export type Prices = Model['prices']

export const priceNames = [
  'input',
  'output',
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'reasoning',
  'per_request',
  'per_search',
] as const
export type PriceName = (typeof priceNames)[number]
export type PriceDraft = Record<PriceName, string> & { free: string }

export function priceDraftFrom(prices: Prices | null): PriceDraft {
  return {
    input: prices?.input ?? '',
    output: prices?.output ?? '',
    cached_input: prices?.cached_input ?? '',
    cache_write: prices?.cache_write ?? '',
    cache_write_1h: prices?.cache_write_1h ?? '',
    reasoning: prices?.reasoning ?? '',
    per_request: prices?.per_request ?? '',
    per_search: prices?.per_search ?? '',
    free: prices?.free === true ? 'yes' : '',
  }
}

/** The API's representation; an empty price inherits that of its parent kind. */
export function pricesFromDraft(draft: PriceDraft): Prices {
  if (draft.free !== '') return { free: true }
  const given = priceNames.flatMap((name) => {
    const text = draft[name].trim()
    return text === '' ? [] : [[name, text] as const]
  })
  return Object.fromEntries(given)
}

export function hasPrices(draft: PriceDraft): boolean {
  if (draft.free !== '') return true
  return isDecimal(draft.input) && isDecimal(draft.output) && !draft.input.startsWith('-')
}

export interface PriceFieldsProps {
  readonly draft: PriceDraft
  readonly set: (name: keyof PriceDraft, value: string) => void
  readonly fieldError: (...params: string[]) => string | undefined
}

export function PriceFields(props: PriceFieldsProps) {
  const t = useMessages('catalog').prices
  return (
    <fieldset className="field-group">
      <legend>{t.legend}</legend>
      <div className="stack">
        <PriceInputs {...props} isRequired />
      </div>
    </fieldset>
  )
}

export interface PriceInputsProps extends PriceFieldsProps {
  readonly isRequired: boolean
}

export function PriceInputs({ draft, set, fieldError, isRequired }: PriceInputsProps) {
  const t = useMessages('catalog').prices
  const field = (name: PriceName) => (
    <AmountField
      key={name}
      label={t[name]}
      name={name}
      required={isRequired && (name === 'input' || name === 'output')}
      value={draft[name]}
      error={fieldError(`prices.${name}`)}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  )
  return (
    <>
      <Checkbox
        label={t.free}
        checked={draft.free !== ''}
        onChange={(event) => set('free', event.currentTarget.checked ? 'yes' : '')}
      />
      {draft.free === '' && (
        <>
          <div className="fields">
            {field('input')}
            {field('output')}
          </div>
          <details className="disclosure" open={priceNames.slice(2).some((name) => draft[name] !== '')}>
            <summary>{t.more}</summary>
            <p className="muted">{t.moreLead}</p>
            <div className="fields">{priceNames.slice(2).map((name) => field(name))}</div>
          </details>
        </>
      )}
    </>
  )
}

/** `¥0.002 / ¥0.008`, or a tag for a free model. */
export function PricePair({ prices }: { readonly prices: Prices }) {
  const { free } = useMessages('catalog').prices
  if (prices.free === true) return <span className="tag">{free}</span>
  return (
    <span className="nowrap">
      <Money amount={prices.input ?? '0'} /> / <Money amount={prices.output ?? '0'} />
    </span>
  )
}

export interface MarginPairProps {
  readonly prices: Prices
  /** null: unknown. */
  readonly cost: Prices | null
}

/** The margin per 1,000 tokens of input and output. Free counts as zero. */
export function MarginPair({ prices, cost }: MarginPairProps) {
  const t = useMessages('catalog').costs
  if (cost === null) return <UnknownAmount reason={t.unknown} />
  const nanosOf = ({ free, ...price }: Prices, name: 'input' | 'output'): bigint =>
    toNanos(free === true ? '0' : (price[name] ?? '0'))
  const margin = (name: 'input' | 'output'): string => fromNanos(nanosOf(prices, name) - nanosOf(cost, name))
  return (
    <span className="nowrap">
      <Money amount={margin('input')} /> / <Money amount={margin('output')} />
    </span>
  )
}

/** The signed change in percent. */
export function formatPercentChange(from: string, to: string): string {
  const before = Number(from)
  if (before === 0) return ''
  const percent = ((Number(to) - before) / before) * 100
  if (percent === 0) return '±0%'
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent).toLocaleString('en-US', { maximumFractionDigits: 1 })}%`
}

/** A price times a factor such as "1.1", computed exactly and truncated to nine decimals. */
export function multiplyPrice(price: string, factor: string): string {
  return fromNanos((toNanos(price) * toNanos(factor)) / 1_000_000_000n)
}

export interface PriceChangeProps {
  readonly before: Prices
  readonly after: PriceDraft
}

/** Old → new for each changed price. */
export function PriceChange({ before, after }: PriceChangeProps): ReactNode {
  const t = useMessages('catalog').prices
  const old = priceDraftFrom(before)
  const rows = priceNames.filter((name) => old[name] !== after[name].trim())
  if ((old.free !== '') !== (after.free !== '')) {
    return <p>{after.free === '' ? t.noLongerFree : t.nowFree}</p>
  }
  if (after.free !== '' || rows.length === 0) return <p className="muted">{t.noChange}</p>
  return (
    <table className="table plain-table" aria-label={t.change}>
      <tbody>
        {rows.map((name) => (
          <tr key={name}>
            <th scope="row">{t[name]}</th>
            <td className="numeric">{old[name] === '' ? t.inherited[name] : <Money amount={old[name]} />}</td>
            <td>→</td>
            <td className="numeric">
              {after[name].trim() === '' ? t.inherited[name] : <Money amount={after[name].trim()} />}
            </td>
            <td className="numeric">
              {old[name] !== '' && isDecimal(after[name])
                ? formatPercentChange(old[name], after[name].trim())
                : ''}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
