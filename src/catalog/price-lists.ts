/**
 * Public price lists of providers, bundled with a release and never fetched, as suggestions for an operator's
 * prices. The lists are made by others, in dollars and floating point, and become outdated; nothing from them
 * takes effect before an operator has reviewed it. Source: genai-prices,
 * https://github.com/pydantic/genai-prices.
 */

import { findProvider, type ModelInfo, type ModelPrice, type TieredPrices } from '@pydantic/genai-prices'
import { formatAmount, parseAmount, formatPrice } from '../lib/money.ts'
import type { PriceInput } from './price-input.ts'

/** Our provider names and those of the lists. Providers without a list are absent. */
const listIds: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  vertex: 'google',
  azure: 'azure',
  bedrock: 'aws',
  perplexity: 'perplexity',
  deepseek: 'deepseek',
  moonshot: 'moonshotai',
  zhipu: 'zhipuai',
  minimax: 'minimax',
  mistral: 'mistral',
  groq: 'groq',
  xai: 'x-ai',
  cohere: 'cohere',
  together: 'together',
  fireworks: 'fireworks',
  openrouter: 'openrouter',
}

/** Providers with a price list. */
export const listedProviders: readonly string[] = Object.keys(listIds)

/** Pricing details that a single number cannot express. */
export type Remark = 'more_for_long_prompts' | 'changes_by_the_hour' | 'charges_beside_tokens'

export interface ListedModel {
  /** The provider's name for the model, as in `routes[].model`. */
  readonly id: string
  readonly title: string
  /** `null`: not in the list. */
  readonly contextTokens: number | null
  readonly prices: PriceInput
  readonly remarks: readonly Remark[]
}

const partsPerMillion = 1_000_000n
const tokenPrices = new Set([
  'input_mtok',
  'output_mtok',
  'cache_read_mtok',
  'cache_write_mtok',
  'cache_write_1h_mtok',
])

/** The prices on a date, at the most expensive time of day, and whether they change by the hour. */
function pricesOn(
  { prices }: ModelInfo,
  date: string,
): { readonly prices: ModelPrice; readonly changesByHour: boolean } {
  if (!Array.isArray(prices)) return { prices, changesByHour: false }
  const started = prices.filter(
    ({ constraint }) => constraint?.type !== 'start_date' || constraint.start_date <= date,
  )
  const base = started.findLast(({ constraint }) => constraint?.type !== 'time_of_date')
  const baseIndex = base ? started.indexOf(base) : 0
  // Hourly constraints follow the prices that they belong to.
  const current = started.filter(
    ({ constraint }, at) => at === baseIndex || (constraint?.type === 'time_of_date' && at > baseIndex),
  )
  const byPrice = current.toSorted(
    (one, other) => basePrice(other.prices['input_mtok']) - basePrice(one.prices['input_mtok']),
  )
  return { prices: byPrice[0]?.prices ?? {}, changesByHour: current.length > 1 }
}

function basePrice(price: number | TieredPrices | undefined): number {
  return typeof price === 'object' ? price.base : (price ?? 0)
}

/**
 * Converts dollars per million tokens to the platform's currency per 1,000 tokens, rounded up to a nano per
 * million.
 */
function per1K(price: number | TieredPrices | undefined, ratePpm: number): string | undefined {
  if (price === undefined) return undefined
  const nanos = parseAmount(basePrice(price).toFixed(9)) * BigInt(ratePpm)
  return formatPrice((nanos + partsPerMillion - 1n) / partsPerMillion)
}

function toListedModel(model: ModelInfo, ratePpm: number, date: string): ListedModel | null {
  const { prices, changesByHour } = pricesOn(model, date)
  const [input, output] = [per1K(prices['input_mtok'], ratePpm), per1K(prices['output_mtok'], ratePpm)]
  if (input === undefined || output === undefined) return null
  const searches = prices['requests_kcount']
  const remarks: Remark[] = []
  if (Object.values(prices).some((price) => typeof price === 'object')) remarks.push('more_for_long_prompts')
  if (changesByHour) remarks.push('changes_by_the_hour')
  const otherCharges = Object.keys(prices).filter(
    (name) => !tokenPrices.has(name) && name !== 'requests_kcount',
  )
  if (otherCharges.length > 0) remarks.push('charges_beside_tokens')
  return {
    id: model.id,
    title: model.name ?? model.id,
    contextTokens: model.context_window ?? null,
    prices: {
      input,
      output,
      cachedInput: per1K(prices['cache_read_mtok'], ratePpm),
      cacheWrite: per1K(prices['cache_write_mtok'], ratePpm),
      perRequest:
        searches === undefined
          ? undefined
          : formatAmount(
              (parseAmount((basePrice(searches) / 1000).toFixed(9)) * BigInt(ratePpm) +
                partsPerMillion -
                1n) /
                partsPerMillion,
            ),
    },
    remarks,
  }
}

/**
 * A provider's models priced by the token, as of a date such as `2026-11-21`. `ratePpm` is the price of a
 * dollar in the platform's currency, in millionths; it may include a margin. `null`: no list for this
 * provider.
 */
export function priceListOf(provider: string, ratePpm: number, date: string): ListedModel[] | null {
  const providerId = Object.hasOwn(listIds, provider) ? listIds[provider] : undefined
  const list = providerId === undefined ? undefined : findProvider({ providerId })
  if (!list) return null
  return list.models.flatMap((model) => {
    const listed = model.deprecated === true ? null : toListedModel(model, ratePpm, date)
    return listed ?? []
  })
}
