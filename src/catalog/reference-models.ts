/**
 * Reference models for `seed` and the demonstration: the specification's families under neutral ids (§2.2), with its
 * price table where it has a row (§1). The table has no row for the others: their prices are set here in the
 * proportions that such models usually have, so that nothing is unpriced. An operator sets their own.
 */

import type { ModelInput } from './models.ts'

/** A reference model without routes; whoever seeds adds them. */
export type ReferenceModel = Omit<ModelInput, 'routes'> & {
  /** Where the price is from: the list (the specification's table), or set here in its proportions. */
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

export const referenceModels: readonly ReferenceModel[] = [
  familyA('family-a-small', 4 * kibi, ['0.002', '0.002']),
  familyA('family-a-small-16k', 16 * kibi, ['0.002', '0.002']),
  familyA('family-a-large', 8 * kibi, ['0.03', '0.06']),
  familyA('family-a-large-32k', 32 * kibi, ['0.03', '0.06']),
  // Cache prices in the family's usual proportions: reading a tenth of the input, writing five quarters.
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
