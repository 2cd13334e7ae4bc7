/**
 * Reference models for `seed` and the demo: the model families of the specification under neutral ids (§2.2),
 * with its prices where its table has them (§1). The other prices are set here in typical proportions, so
 * that nothing is unpriced. Operators set their own.
 */

import { formatAmount, formatPrice, parseAmount, parsePrice } from '../lib/money.ts'
import type { ModelInput } from './models.ts'
import { parseListRate } from './price-lists.ts'

/** A reference model without routes, which `seed` and the demo add. */
export type ReferenceModel = Omit<ModelInput, 'routes'> & {
  /**
   * Where the price is from: `list` is the specification's table; `reference` is set here in proportion to
   * it.
   */
  readonly priceSource: 'list' | 'reference'
}

const kibi = 1024

function familyA(
  id: string,
  contextTokens: number,
  [input, output]: readonly [string, string],
): ReferenceModel {
  return {
    id,
    contextTokens,
    maxOutputTokens: 4 * kibi,
    ownedBy: 'family-a',
    prices: { input, output },
    priceSource: 'list',
  }
}

function familyB(
  tier: 'top' | 'mid' | 'fast',
  [input, output, cachedInput, cacheWrite]: readonly [string, string, string, string],
): ReferenceModel {
  return {
    id: `family-b-${tier}`,
    contextTokens: 200_000,
    maxOutputTokens: 8 * kibi,
    ownedBy: 'family-b',
    prices: { input, output, cachedInput, cacheWrite },
    priceSource: tier === 'mid' ? 'list' : 'reference',
  }
}

/** With prices in yuan. */
export const referenceModels: readonly ReferenceModel[] = [
  familyA('family-a-small', 4 * kibi, ['0.002', '0.002']),
  familyA('family-a-small-16k', 16 * kibi, ['0.002', '0.002']),
  familyA('family-a-large', 8 * kibi, ['0.03', '0.06']),
  familyA('family-a-large-32k', 32 * kibi, ['0.03', '0.06']),
  // Typical cache prices of the family: reads cost a tenth of the input, writes five quarters.
  familyB('top', ['0.075', '0.375', '0.0075', '0.09375']),
  familyB('mid', ['0.015', '0.075', '0.0015', '0.01875']),
  familyB('fast', ['0.004', '0.02', '0.0004', '0.005']),
  {
    id: 'search-chat',
    contextTokens: 128_000,
    maxOutputTokens: 8 * kibi,
    ownedBy: 'search',
    prices: { input: '0.007', output: '0.007', perRequest: '0.035' },
    priceSource: 'reference',
  },
  {
    id: 'domestic-qwen',
    contextTokens: 128_000,
    maxOutputTokens: 8 * kibi,
    ownedBy: 'domestic',
    prices: { input: '0.0008', output: '0.002', cachedInput: '0.00032' },
    priceSource: 'reference',
  },
  {
    id: 'domestic-deepseek',
    contextTokens: 128_000,
    maxOutputTokens: 8 * kibi,
    ownedBy: 'domestic',
    prices: { input: '0.002', output: '0.003', cachedInput: '0.0002' },
    priceSource: 'reference',
  },
]

/** Rounded up, as those of the price lists. */
function scale(nanos: bigint, ratePpm: number): bigint {
  return (nanos * BigInt(ratePpm) + 999_999n) / 1_000_000n
}

/**
 * The reference models with prices in the platform's currency. `rate`: the price of one yuan in it, as a decimal text.
 * Throws 400 naming `rate` if it is absent and the currency is not the yuan.
 */
export function referenceModelsIn(currency: string, rate: string | undefined): ReferenceModel[] {
  const ratePpm = parseListRate(rate, currency, 'CNY')
  return referenceModels.map((model) => {
    const prices = Object.entries(model.prices ?? {}).map(([name, price]) => [
      name,
      name === 'perRequest'
        ? formatAmount(scale(parseAmount(String(price)), ratePpm))
        : formatPrice(scale(parsePrice(String(price)), ratePpm)),
    ])
    return { ...model, prices: Object.fromEntries(prices) as ReferenceModel['prices'] }
  })
}
