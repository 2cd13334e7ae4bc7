/** Prices per 1,000 tokens: as form fields, as text, and as a diff. */
import { Checkbox, Textarea } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Model } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { AmountField } from './fields.tsx'
import { isDecimal } from './field-values.ts'
import { fromNanos, toNanos } from '../format.ts'
import { aboveFrom, entriesFrom, textOfAbove, textOfEntries, textOfTools, toolsFrom } from './price-text.ts'
import { Money, UnknownAmount } from '../tables/format-cells.tsx'

export type Prices = Model['prices']

/** Tokens of images and audio. */
export const mediaNames = [
  'input_image',
  'input_audio',
  'cached_input_image',
  'cached_input_audio',
  'output_image',
  'output_audio',
] as const

export const priceNames = [
  'input',
  'output',
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'reasoning',
  ...mediaNames,
  'per_request',
  'per_search',
] as const
export type PriceName = (typeof priceNames)[number]
/** Prices that have a line of text for each entry. */
export const listNames = ['service_tiers', 'per_tool_call', 'above'] as const
export type ListName = (typeof listNames)[number]
export type PriceDraft = Record<PriceName | ListName, string> & { free: string }

export function priceDraftFrom(prices: Prices | null): PriceDraft {
  return {
    input: prices?.input ?? '',
    output: prices?.output ?? '',
    cached_input: prices?.cached_input ?? '',
    cache_write: prices?.cache_write ?? '',
    cache_write_1h: prices?.cache_write_1h ?? '',
    reasoning: prices?.reasoning ?? '',
    input_image: prices?.input_image ?? '',
    input_audio: prices?.input_audio ?? '',
    cached_input_image: prices?.cached_input_image ?? '',
    cached_input_audio: prices?.cached_input_audio ?? '',
    output_image: prices?.output_image ?? '',
    output_audio: prices?.output_audio ?? '',
    per_request: prices?.per_request ?? '',
    per_search: prices?.per_search ?? '',
    service_tiers: textOfEntries(prices?.service_tiers),
    per_tool_call: textOfTools(prices?.per_tool_call),
    above: textOfAbove(prices?.above),
    free: prices?.free === true ? 'yes' : '',
  }
}

const parsers = { service_tiers: entriesFrom, per_tool_call: toolsFrom, above: aboveFrom }

/** The API's representation; an empty price inherits that of its parent kind. */
export function pricesFromDraft(draft: PriceDraft): Prices {
  if (draft.free !== '') return { free: true }
  const given = priceNames.flatMap((name) => {
    const text = draft[name].trim()
    return text === '' ? [] : [[name, text] as const]
  })
  const tiers = entriesFrom(draft.service_tiers) ?? {}
  const tools = toolsFrom(draft.per_tool_call) ?? {}
  const above = aboveFrom(draft.above) ?? []
  const prices: Prices = Object.fromEntries(given)
  return {
    ...prices,
    ...(Object.keys(tiers).length > 0 ? { service_tiers: tiers } : {}),
    ...(Object.keys(tools).length > 0 ? { per_tool_call: tools } : {}),
    ...(above.length > 0 ? { above } : {}),
  }
}

/** An entry of each list. */
const examples = {
  service_tiers: 'flex 0.5',
  per_tool_call: 'file_search 0.02',
  above: '200000 input 0.02 output 0.04',
}

const isValidList = (name: ListName, text: string): boolean => parsers[name](text) !== null

export function hasPrices(draft: PriceDraft, hasOutput = true): boolean {
  if (draft.free !== '') return true
  if (!listNames.every((name) => isValidList(name, draft[name]))) return false
  const hasOutputPrice = isDecimal(draft.output) || (!hasOutput && draft.output === '')
  return isDecimal(draft.input) && hasOutputPrice && !draft.input.startsWith('-')
}

export interface PriceFieldsProps {
  readonly draft: PriceDraft
  /** False: the model has no output, so that its price may be absent. */
  readonly hasOutput?: boolean
  readonly set: (name: keyof PriceDraft, value: string) => void
  readonly fieldError: (...params: string[]) => string | undefined
}

export function PriceFields(props: PriceFieldsProps) {
  const t = useMessages('prices').form
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

export function PriceInputs({ draft, set, fieldError, isRequired, hasOutput = true }: PriceInputsProps) {
  const t = useMessages('prices').form
  const field = (name: PriceName) => (
    <AmountField
      key={name}
      label={t[name]}
      name={name}
      required={isRequired && (name === 'input' || (name === 'output' && hasOutput))}
      value={draft[name]}
      error={fieldError(`prices.${name}`)}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  )
  const list = (name: ListName) => (
    <Textarea
      key={name}
      label={t[name]}
      description={t.listHints[name]}
      placeholder={examples[name]}
      name={name}
      autosize
      autoComplete="off"
      value={draft[name]}
      error={isValidList(name, draft[name]) ? fieldError(`prices.${name}`) : t.invalidList}
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
          <details className="disclosure" open={listNames.some((name) => draft[name] !== '')}>
            <summary>{t.lists}</summary>
            <div className="stack">{listNames.map((name) => list(name))}</div>
          </details>
        </>
      )}
    </>
  )
}

/** `¥0.002 / ¥0.008`, or a tag for a free model. */
export function PricePair({ prices }: { readonly prices: Prices }) {
  const { free } = useMessages('prices').form
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
  const t = useMessages('prices').form
  const old = priceDraftFrom(before)
  const rows = priceNames.filter((name) => old[name] !== after[name].trim())
  const lists = listNames.filter((name) => old[name] !== after[name].trim())
  if ((old.free !== '') !== (after.free !== '')) {
    return <p>{after.free === '' ? t.noLongerFree : t.nowFree}</p>
  }
  if (after.free !== '' || rows.length + lists.length === 0) return <p className="muted">{t.noChange}</p>
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
        {lists.map((name) => (
          <tr key={name}>
            <th scope="row">{t[name]}</th>
            <td className="preserved">{old[name] === '' ? t.noList : old[name]}</td>
            <td>→</td>
            <td className="preserved" colSpan={2}>
              {after[name].trim() === '' ? t.noList : after[name].trim()}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
