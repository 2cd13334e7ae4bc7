/**
 * Public price lists of providers, bundled with a release and never fetched, as suggestions for an operator's
 * prices. The lists are made by others, in dollars and floating point, and become outdated; nothing from them
 * takes effect before an operator has reviewed it. Source: genai-prices,
 * https://github.com/pydantic/genai-prices.
 */

import type { ModelInfo, ModelPrice, TieredPrices } from '@pydantic/genai-prices'
import { invalidField } from '../errors.ts'
import { formatAmount, parseAmount, formatPrice, parseRate } from '../lib/money.ts'
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
export type Remark = 'changes_by_the_hour' | 'charges_beside_tokens'

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
/** Token prices, by our name and that of the lists. */
const tokenPrices = {
  input: 'input_mtok',
  output: 'output_mtok',
  cachedInput: 'cache_read_mtok',
  cacheWrite: 'cache_write_mtok',
  cacheWrite1h: 'cache_write_1h_mtok',
  reasoning: 'output_reasoning_mtok',
  inputImage: 'input_image_mtok',
  inputAudio: 'input_audio_mtok',
  cachedInputImage: 'cache_image_read_mtok',
  cachedInputAudio: 'cache_audio_read_mtok',
  outputImage: 'output_image_mtok',
  outputAudio: 'output_audio_mtok',
} as const
/** Prices of a thousand requests, searches and calls of a tool. */
const requestPrice = 'requests_kcount'
const searchPrice = 'web_searches_kcount'
const fileSearchPrice = 'storage_searches_kcount'
const knownPrices = new Set<string>([
  ...Object.values(tokenPrices),
  requestPrice,
  searchPrice,
  fileSearchPrice,
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

type ListedPrice = number | TieredPrices | undefined

function basePrice(price: ListedPrice): number {
  return typeof price === 'object' ? price.base : (price ?? 0)
}

/** The price of requests with more input tokens than `start`. */
function priceAbove(price: ListedPrice, start: number): number | undefined {
  if (typeof price !== 'object') return price
  return price.tiers.findLast((tier) => tier.start <= start)?.price ?? price.base
}

/** The currency of all lists. */
const listCurrency = 'USD'

/**
 * The rate for `priceListOf`, from a decimal text: the price of one unit of `from` in the platform's currency, in
 * millionths. Throws 400 naming `rate` if it is absent and the two currencies differ: nothing is ever taken for another
 * currency.
 */
export function parseListRate(rate: string | undefined, currency: string, from = listCurrency): number {
  if (rate !== undefined || currency === from) return parseRate(rate ?? '1', 'rate')
  throw invalidField(
    'rate',
    `must be the price of one ${from} in ${currency}, because these prices are in ${from}`,
  )
}

/** Converts dollars to nanos of the platform's currency, rounded up. */
function toNanos(dollars: number, ratePpm: number): bigint {
  return (parseAmount(dollars.toFixed(9)) * BigInt(ratePpm) + partsPerMillion - 1n) / partsPerMillion
}

/** The prices per 1,000 tokens of those that the list has. */
function toRates(
  priceOf: (name: string) => number | undefined,
  ratePpm: number,
): Partial<Record<keyof typeof tokenPrices, string>> {
  const rates = Object.entries(tokenPrices).flatMap(([name, listed]) => {
    const dollars = priceOf(listed)
    return dollars === undefined ? [] : [[name, formatPrice(toNanos(dollars, ratePpm))] as const]
  })
  return Object.fromEntries(rates)
}

/** `null`: the model is not priced by tokens of both kinds. */
function toPrices(prices: ModelPrice, ratePpm: number): PriceInput | null {
  const listed = (name: string): ListedPrice => prices[name]
  const { input, output, ...others } = toRates(
    (name) => (listed(name) === undefined ? undefined : basePrice(listed(name))),
    ratePpm,
  )
  if (input === undefined || output === undefined) return null
  const fee = (name: string): string | undefined =>
    listed(name) === undefined ? undefined : formatAmount(toNanos(basePrice(listed(name)) / 1000, ratePpm))
  const starts = Object.values(tokenPrices).flatMap((name) => {
    const price = listed(name)
    return typeof price === 'object' ? price.tiers.map(({ start }) => start) : []
  })
  const above = [...new Set(starts)].toSorted((left, right) => left - right)
  const fileSearch = fee(fileSearchPrice)
  return {
    input,
    output,
    ...others,
    perRequest: fee(requestPrice),
    perSearch: fee(searchPrice),
    ...(fileSearch === undefined ? {} : { perToolCall: { file_search: fileSearch } }),
    ...(above.length === 0
      ? {}
      : {
          above: above.map((start) => ({
            inputTokens: start,
            input,
            output,
            ...toRates((name) => priceAbove(listed(name), start), ratePpm),
          })),
        }),
  }
}

function toListedModel(model: ModelInfo, ratePpm: number, date: string): ListedModel | null {
  const { prices: listed, changesByHour } = pricesOn(model, date)
  const prices = toPrices(listed, ratePpm)
  if (prices === null) return null
  const remarks: Remark[] = []
  if (changesByHour) remarks.push('changes_by_the_hour')
  if (Object.keys(listed).some((name) => !knownPrices.has(name))) remarks.push('charges_beside_tokens')
  return {
    id: model.id,
    title: model.name ?? model.id,
    contextTokens: model.context_window ?? null,
    prices,
    remarks,
  }
}

/**
 * A provider's models priced by the token, as of a date such as `2026-11-21`. `ratePpm` is the price of a
 * dollar in the platform's currency, in millionths; it may include a margin. `null`: no list for this
 * provider.
 */
export async function priceListOf(
  provider: string,
  ratePpm: number,
  date: string,
): Promise<ListedModel[] | null> {
  const providerId = Object.hasOwn(listIds, provider) ? listIds[provider] : undefined
  if (providerId === undefined) return null
  // The lists take ten megabytes and are rarely needed, so they are loaded on first use.
  const { findProvider } = await import('@pydantic/genai-prices')
  const list = findProvider({ providerId })
  if (!list) return null
  return list.models.flatMap((model) => {
    const listed = model.deprecated === true ? null : toListedModel(model, ratePpm, date)
    return listed ?? []
  })
}
