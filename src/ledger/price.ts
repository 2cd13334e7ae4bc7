/**
 * What usage costs. A price is whole nanos per million tokens, or per unit. The components of a request are summed
 * exactly, multiplied by the factor and rounded up once to a nano. So for any split of a request that is priced alike,
 * cost(a) + cost(b) − cost(a + b) is 0 or 1 nano. Nothing else multiplies usage by money.
 */
import type { TokenRates, UnitPrices } from '../providers/price-units.ts'
import { modalities, modalityNames, type Modality, type TokenUsage } from '../providers/usage.ts'

/** `perRequest` and `perSearch` are nanos. */
export interface Price extends TokenRates, UnitPrices {
  readonly version: number
  readonly modality?: TokenRates['modality']
  /** A fee for each successful request, such as a search fee. */
  readonly perRequest: bigint
  /** A fee for each web search that the provider reports. `null` or absent: none. */
  readonly perSearch?: bigint | null
}

export type { TokenRates, UnitPrices }
export type Usage = TokenUsage

/** Token prices are per million, and factors are parts per million. */
const million = 1_000_000n
const scale = million * million
const tierScale = scale * million

export type TokenKind =
  | 'input'
  | 'cachedInput'
  | 'cacheWrite'
  | 'cacheWrite1h'
  | 'output'
  | 'reasoning'
  | Modality
/** A call of the tool `web_search` is `tool:web_search`. */
export type FeeKind = 'request' | 'search' | `tool:${string}`

export interface CostVisitor {
  /** `rate`: nanos per million tokens, before the factor of the service tier. */
  tokens(kind: TokenKind, count: number, rate: bigint): void
  /** `fee`: nanos per unit. */
  fees(kind: FeeKind, count: number, fee: bigint): void
}

/** The token prices that apply to a whole input of this many tokens. */
export function ratesFor(price: Price, inputTokens: number): TokenRates {
  return price.above?.findLast(({ above }) => inputTokens > above) ?? price
}

/**
 * Visits everything that is charged, in the order of a bill. If the parts add up to more than their total, they are
 * charged as reported and never make the remainder negative.
 */
export function visitCosts(price: Price, usage: Usage, visitor: CostVisitor): void {
  const rates = price.above ? ratesFor(price, usage.input) : price
  const { input, cachedInput, cacheWrite, output, reasoning, modality } = usage
  const written = rates.cacheWrite ?? rates.input
  const hourTokens = Math.min(usage.cacheWrite1h ?? 0, cacheWrite)
  const media = modality ? mediaTokens(modality) : noMedia
  const fresh = input - cachedInput - cacheWrite - media.input
  const visible = output - reasoning - media.output
  if (fresh > 0) visitor.tokens('input', fresh, rates.input)
  const cachedText = cachedInput - media.cachedInput
  if (cachedText > 0) visitor.tokens('cachedInput', cachedText, rates.cachedInput ?? rates.input)
  if (cacheWrite > hourTokens) visitor.tokens('cacheWrite', cacheWrite - hourTokens, written)
  if (hourTokens > 0) visitor.tokens('cacheWrite1h', hourTokens, rates.cacheWrite1h ?? written)
  if (visible > 0) visitor.tokens('output', visible, rates.output)
  if (reasoning > 0) visitor.tokens('reasoning', reasoning, rates.reasoning ?? rates.output)
  if (modality) visitMedia(rates, modality, visitor)
  if (price.perRequest > 0n) visitor.fees('request', 1, price.perRequest)
  if (usage.searches && price.perSearch) visitor.fees('search', usage.searches, price.perSearch)
  if (usage.toolCalls && price.perToolCall) visitTools(price.perToolCall, usage.toolCalls, visitor)
}

const noMedia = { input: 0, cachedInput: 0, output: 0 }

/** Tokens of images and audio, apart from the cached ones for `input`. */
function mediaTokens(tokens: NonNullable<Usage['modality']>): typeof noMedia {
  const cachedInput = (tokens.cachedInputImage ?? 0) + (tokens.cachedInputAudio ?? 0)
  return {
    input: Math.max(0, (tokens.inputImage ?? 0) + (tokens.inputAudio ?? 0) - cachedInput),
    cachedInput,
    output: (tokens.outputImage ?? 0) + (tokens.outputAudio ?? 0),
  }
}

function visitMedia(rates: TokenRates, tokens: NonNullable<Usage['modality']>, visitor: CostVisitor): void {
  const { cachedInputImage = 0, cachedInputAudio = 0 } = tokens
  const cached: Readonly<Record<string, number>> = {
    inputImage: cachedInputImage,
    inputAudio: cachedInputAudio,
  }
  for (const name of modalityNames) {
    const count = (tokens[name] ?? 0) - (cached[name] ?? 0)
    if (count > 0) visitor.tokens(name, count, modalityRate(rates, name))
  }
}

function modalityRate(rates: TokenRates, name: Modality): bigint {
  return rates.modality?.[name] ?? rates[modalities[name]] ?? rates.input
}

function visitTools(
  prices: NonNullable<Price['perToolCall']>,
  calls: NonNullable<Usage['toolCalls']>,
  visitor: CostVisitor,
): void {
  for (const [name, count] of Object.entries(calls)) {
    const fee = Object.hasOwn(prices, name) ? prices[name] : undefined
    if (fee && count > 0) visitor.fees(`tool:${name}`, count, fee)
  }
}

/** By which the token prices are multiplied, in parts per million; `undefined`: by 1. A tier without a factor counts as 1. */
export function tierFactor(
  { serviceTiers }: Pick<Price, 'serviceTiers'>,
  tier: string | undefined,
): number | undefined {
  if (!serviceTiers || tier === undefined || !Object.hasOwn(serviceTiers, tier)) return undefined
  return serviceTiers[tier]
}

/**
 * No request costs more, even if its price was mistyped: ten million of the platform's currency, so that a 64-bit sum has room for
 * hundreds of them.
 */
const maxCost = 10n ** 16n

/** The cost of a request in nanos, rounded up once. `factorPpm` 1,000,000 is the list price. */
export function costOf(price: Price, usage: Usage, factorPpm: number): bigint {
  const sum = new CostSum()
  visitCosts(price, usage, sum)
  const tier = tierFactor(price, usage.tier)
  const factor = BigInt(factorPpm)
  const cost =
    tier === undefined
      ? ((sum.tokenCost + sum.feeCost * million) * factor + scale - 1n) / scale
      : ((sum.tokenCost * BigInt(tier) + sum.feeCost * scale) * factor + tierScale - 1n) / tierScale
  return cost < maxCost ? cost : maxCost
}

class CostSum implements CostVisitor {
  /** Nanos × 10⁶. */
  tokenCost = 0n
  /** Nanos. */
  feeCost = 0n

  tokens(_kind: TokenKind, count: number, rate: bigint): void {
    this.tokenCost += BigInt(count) * rate
  }

  fees(_kind: FeeKind, count: number, fee: bigint): void {
    this.feeCost += BigInt(count) * fee
  }
}
