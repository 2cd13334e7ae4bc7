/**
 * What providers charge by their public price lists, bundled with a release and never fetched: proposals for prices of
 * one's own. The lists are other people's work, in dollars and floating point, and age; nothing of them is live before
 * an administrator has looked at it. Source: genai-prices, https://github.com/pydantic/genai-prices.
 */

import { findProvider, type ModelInfo, type ModelPrice, type TieredPrices } from '@pydantic/genai-prices'
import { decimalOf, nanosOf, pricePer1KOf } from '../lib/money.ts'
import type { PriceInput } from './prices.ts'

/** Ours and theirs, where they differ; providers without a list there are absent. */
const theirNames: Readonly<Record<string, string>> = {
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

/** Providers that have a price list. */
export const listedProviders: readonly string[] = Object.keys(theirNames)

/** What a price of one number cannot say. */
export type Remark = 'more_for_long_prompts' | 'changes_by_the_hour' | 'charges_beside_tokens'

export interface ListedModel {
  /** The provider's name for it, as `routes[].model` takes it. */
  readonly id: string
  readonly title: string
  /** `null`: the list does not say. */
  readonly contextTokens: number | null
  readonly prices: PriceInput
  readonly remarks: readonly Remark[]
}

const ppm = 1_000_000n
const tokenPrices = new Set([
  'input_mtok',
  'output_mtok',
  'cache_read_mtok',
  'cache_write_mtok',
  'cache_write_1h_mtok',
])

/** The prices that hold at a time of day's dearest, and whether they change by the hour. */
function pricesAt(
  { prices }: ModelInfo,
  date: string,
): { readonly held: ModelPrice; readonly byHour: boolean } {
  if (!Array.isArray(prices)) return { held: prices, byHour: false }
  const begun = prices.filter(
    ({ constraint }) => constraint?.type !== 'start_date' || constraint.start_date <= date,
  )
  const usual = begun.findLast(({ constraint }) => constraint?.type !== 'time_of_date')
  const newest = usual ? begun.indexOf(usual) : 0
  // Hours belong to the prices that they stand behind.
  const current = begun.filter(
    ({ constraint }, at) => at === newest || (constraint?.type === 'time_of_date' && at > newest),
  )
  const dearest = current.toSorted(
    (one, other) => dollarsOf(other.prices['input_mtok']) - dollarsOf(one.prices['input_mtok']),
  )
  return { held: dearest[0]?.prices ?? {}, byHour: current.length > 1 }
}

function dollarsOf(price: number | TieredPrices | undefined): number {
  return typeof price === 'object' ? price.base : (price ?? 0)
}

/** Dollars per million tokens to the platform's currency per 1,000 tokens, rounded up to a nano per million. */
function per1K(price: number | TieredPrices | undefined, ratePpm: number): string | undefined {
  if (price === undefined) return undefined
  const nanos = nanosOf(dollarsOf(price).toFixed(9)) * BigInt(ratePpm)
  return pricePer1KOf((nanos + ppm - 1n) / ppm)
}

function listedModel(model: ModelInfo, ratePpm: number, date: string): ListedModel | null {
  const { held, byHour } = pricesAt(model, date)
  const [input, output] = [per1K(held['input_mtok'], ratePpm), per1K(held['output_mtok'], ratePpm)]
  if (input === undefined || output === undefined) return null
  const searches = held['requests_kcount']
  const remarks: Remark[] = []
  if (Object.values(held).some((price) => typeof price === 'object')) remarks.push('more_for_long_prompts')
  if (byHour) remarks.push('changes_by_the_hour')
  const further = Object.keys(held).filter((name) => !tokenPrices.has(name) && name !== 'requests_kcount')
  if (further.length > 0) remarks.push('charges_beside_tokens')
  return {
    id: model.id,
    title: model.name ?? model.id,
    contextTokens: model.context_window ?? null,
    prices: {
      input,
      output,
      cachedInput: per1K(held['cache_read_mtok'], ratePpm),
      cacheWrite: per1K(held['cache_write_mtok'], ratePpm),
      perRequest:
        searches === undefined
          ? undefined
          : decimalOf((nanosOf((dollarsOf(searches) / 1000).toFixed(9)) * BigInt(ratePpm) + ppm - 1n) / ppm),
    },
    remarks,
  }
}

/**
 * A provider's models that are priced by the token, as of a date (`2026-11-21`). `ratePpm`: what a dollar costs in the
 * platform's currency, a margin included if one likes, in millionths. `null`: there is no list for this provider.
 */
export function priceListOf(provider: string, ratePpm: number, date: string): ListedModel[] | null {
  const providerId = Object.hasOwn(theirNames, provider) ? theirNames[provider] : undefined
  const found = providerId === undefined ? undefined : findProvider({ providerId })
  if (!found) return null
  return found.models.flatMap((model) => {
    const listed = model.deprecated === true ? null : listedModel(model, ratePpm, date)
    return listed ?? []
  })
}
