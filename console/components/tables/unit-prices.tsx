/** The prices of a model beside those of text tokens: media, tools, service tiers and long inputs. */
import type { Model } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { mediaNames } from '../forms/price-fields.tsx'
import { amountsOfTools } from '../forms/price-text.ts'
import { formatCompact } from '../format.ts'
import { Money } from './format-cells.tsx'

type Prices = Model['prices']

export function hasUnitPrices(prices: Prices): boolean {
  const { per_search: search, per_tool_call: tools, service_tiers: tiers, above } = prices
  const amounts = [search, ...mediaNames.map((name) => prices[name])]
  return [...amounts, tools, tiers, above].some((price) => price !== undefined && price !== null)
}

export function UnitPrices({ prices }: { readonly prices: Prices }) {
  const t = useMessages('prices').form
  const { above: aboveTokens } = useMessages('portal').models
  const { per_tool_call: tools, service_tiers: tiers, above } = prices
  const amounts = [...mediaNames, 'per_search' as const].flatMap((name) => {
    const amount = prices[name]
    return typeof amount === 'string' ? [{ label: t[name], amount }] : []
  })
  return (
    <>
      {[...amounts, ...amountsOfTools(tools)].map(({ label, amount }) => (
        <small key={label}>
          {label} <Money amount={amount} />
        </small>
      ))}
      {(above ?? []).map(({ input_tokens: tokens, input, output }) => (
        <small key={tokens}>
          {aboveTokens(formatCompact(tokens))} <Money amount={input ?? '0'} /> /{' '}
          <Money amount={output ?? '0'} />
        </small>
      ))}
      {Object.entries(tiers ?? {}).map(([tier, factor]) => (
        <small key={tier}>
          {tier} × {factor}
        </small>
      ))}
    </>
  )
}
