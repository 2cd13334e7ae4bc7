/** Prices per 1,000 tokens: as fields, as words, and as what changes. */
import { Checkbox } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Model } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { AmountField, isDecimal } from './fields.tsx'
import { decimalOf, nanosOf } from '../format.ts'
import { Money } from '../tables/format-cells.tsx'

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

export function priceDraftOf(prices: Prices | null): PriceDraft {
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

/** What the interface takes; a price that is left empty costs as its parent. */
export function pricesOf(draft: PriceDraft): Prices {
  if (draft.free !== '') return { free: true }
  const given = priceNames.flatMap((name) => {
    const text = draft[name].trim()
    return text === '' ? [] : [[name, text] as const]
  })
  return Object.fromEntries(given)
}

export function isPriced(draft: PriceDraft): boolean {
  if (draft.free !== '') return true
  return isDecimal(draft.input) && isDecimal(draft.output) && !draft.input.startsWith('-')
}

export interface PriceFieldsProps {
  readonly draft: PriceDraft
  readonly set: (name: keyof PriceDraft, value: string) => void
  readonly errorOf: (...params: string[]) => string | undefined
}

export function PriceFields({ draft, set, errorOf }: PriceFieldsProps) {
  const words = useWords('offer').prices
  const field = (name: PriceName, isNeeded = false) => (
    <AmountField
      key={name}
      label={words[name]}
      name={name}
      required={isNeeded}
      value={draft[name]}
      error={errorOf(`prices.${name}`)}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  )
  return (
    <fieldset className="group">
      <legend>{words.legend}</legend>
      <div className="stack">
        <Checkbox
          label={words.free}
          checked={draft.free !== ''}
          onChange={(event) => set('free', event.currentTarget.checked ? 'yes' : '')}
        />
        {draft.free === '' && (
          <>
            <div className="fields">
              {field('input', true)}
              {field('output', true)}
            </div>
            <details className="more" open={priceNames.slice(2).some((name) => draft[name] !== '')}>
              <summary>{words.more}</summary>
              <p className="quiet">{words.moreLead}</p>
              <div className="fields">{priceNames.slice(2).map((name) => field(name))}</div>
            </details>
          </>
        )}
      </div>
    </fieldset>
  )
}

/** `¥0.002 / ¥0.008`, or that it is free. */
export function PricePair({ prices }: { readonly prices: Prices }) {
  const { free } = useWords('offer').prices
  if (prices.free === true) return <span className="tag">{free}</span>
  return (
    <span className="nowrap">
      <Money amount={prices.input ?? '0'} /> / <Money amount={prices.output ?? '0'} />
    </span>
  )
}

/** The change in hundredths, with its sign. */
export function changeText(from: string, to: string): string {
  const before = Number(from)
  if (before === 0) return ''
  const percent = ((Number(to) - before) / before) * 100
  if (percent === 0) return '±0 %'
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent).toLocaleString('en-US', { maximumFractionDigits: 1 })} %`
}

/** A price times a factor such as "1.1", exactly, rounded to nine digits. */
export function timesFactor(price: string, factor: string): string {
  return decimalOf((nanosOf(price) * nanosOf(factor)) / 1_000_000_000n)
}

export interface PriceChangeProps {
  readonly before: Prices
  readonly after: PriceDraft
}

/** Old → new for every price that changes. */
export function PriceChange({ before, after }: PriceChangeProps): ReactNode {
  const words = useWords('offer').prices
  const old = priceDraftOf(before)
  const rows = priceNames.filter((name) => old[name] !== after[name].trim())
  if ((old.free !== '') !== (after.free !== '')) {
    return <p>{after.free === '' ? words.notFreeAnyMore : words.freeFromNow}</p>
  }
  if (after.free !== '' || rows.length === 0) return <p className="quiet">{words.noChange}</p>
  return (
    <table className="table plain-table" aria-label={words.change}>
      <tbody>
        {rows.map((name) => (
          <tr key={name}>
            <th scope="row">{words[name]}</th>
            <td className="figures">{old[name] === '' ? words.asParent : <Money amount={old[name]} />}</td>
            <td>→</td>
            <td className="figures">
              {after[name].trim() === '' ? words.asParent : <Money amount={after[name].trim()} />}
            </td>
            <td className="figures">
              {old[name] !== '' && isDecimal(after[name]) ? changeText(old[name], after[name].trim()) : ''}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
