/**
 * What tokens cost. A price is whole nano-yuan per million tokens. The components of a request are summed
 * exactly, multiplied by the factor and rounded up once to a nano. So for any split of a request, cost(a) +
 * cost(b) − cost(a + b) is 0 or 1 nano. Nothing else multiplies tokens by money.
 */
import type { TokenUsage } from '../providers/usage.ts'

/**
 * Nano-yuan per million tokens; `perRequest` and `perSearch` are nano-yuan. A component that is `null` has
 * its parent's price.
 */
export interface Price {
  readonly version: number
  readonly input: bigint
  readonly output: bigint
  /** Input tokens read from the provider's cache. `null`: same as input. */
  readonly cachedInput: bigint | null
  /** Input tokens written to the provider's cache. `null`: same as input. */
  readonly cacheWrite: bigint | null
  /** Cache writes with a lifetime of one hour. `null` or absent: same as other cache writes. */
  readonly cacheWrite1h?: bigint | null
  /** Reasoning tokens. `null`: same as output. */
  readonly reasoning: bigint | null
  /** A fee for each successful request, such as a search fee. */
  readonly perRequest: bigint
  /** A fee for each web search that the provider reports. `null` or absent: none. */
  readonly perSearch?: bigint | null
}

export type Usage = TokenUsage

/** Prices are per million tokens, and factors are parts per million. */
const scale = 1_000_000_000_000n
const million = 1_000_000n

/**
 * The exact sum of a request's components before the factor, in nanos × 10⁶. If the parts add up to more than
 * their total, they are charged as reported and never make the remainder negative.
 */
function exactCostOf(price: Price, usage: Usage): bigint {
  const fresh = Math.max(0, usage.input - usage.cachedInput - usage.cacheWrite)
  const visibleOutput = Math.max(0, usage.output - usage.reasoning)
  let sum = BigInt(fresh) * price.input + BigInt(visibleOutput) * price.output
  if (usage.cachedInput > 0) sum += BigInt(usage.cachedInput) * (price.cachedInput ?? price.input)
  if (usage.cacheWrite > 0) sum += cacheWriteCostOf(price, usage)
  if (usage.reasoning > 0) sum += BigInt(usage.reasoning) * (price.reasoning ?? price.output)
  if (usage.searches && price.perSearch) sum += BigInt(usage.searches) * price.perSearch * million
  return sum + price.perRequest * million
}

function cacheWriteCostOf(price: Price, { cacheWrite, cacheWrite1h = 0 }: Usage): bigint {
  const shortPrice = price.cacheWrite ?? price.input
  const hourTokens = Math.min(cacheWrite1h, cacheWrite)
  if (hourTokens === 0) return BigInt(cacheWrite) * shortPrice
  return (
    BigInt(cacheWrite - hourTokens) * shortPrice + BigInt(hourTokens) * (price.cacheWrite1h ?? shortPrice)
  )
}

/**
 * No request costs more, even if its price was mistyped: ten million yuan, so that a 64-bit sum has room for
 * hundreds of them.
 */
const maxCost = 10n ** 16n

/** The cost of a request in nanos, rounded up once. `factorPpm` 1,000,000 is the list price. */
export function costOf(price: Price, usage: Usage, factorPpm: number): bigint {
  const exact = exactCostOf(price, usage) * BigInt(factorPpm)
  const cost = (exact + scale - 1n) / scale
  return cost < maxCost ? cost : maxCost
}

function larger(a: bigint, b: bigint | null): bigint {
  return b !== null && b > a ? b : a
}

/** The fees of this many web searches, in nanos. */
export function searchFees({ perSearch }: Price, searches: number, factorPpm: number): bigint {
  if (!perSearch || searches === 0) return 0n
  return (BigInt(searches) * perSearch * BigInt(factorPpm) + million - 1n) / million
}

/** The maximum cost of this many tokens, whatever kinds they turn out to be. Web searches come on top. */
export function maxCostOf(
  price: Price,
  inputTokens: number,
  outputTokens: number,
  factorPpm: number,
): bigint {
  const written = larger(larger(price.input, price.cacheWrite), price.cacheWrite1h ?? null)
  const input = BigInt(inputTokens) * larger(written, price.cachedInput)
  const output = BigInt(outputTokens) * larger(price.output, price.reasoning)
  return ((input + output + price.perRequest * million) * BigInt(factorPpm) + scale - 1n) / scale
}

/**
 * How many output tokens `nanos` certainly pay for in addition to the input, at most `maxTokens`. Negative if
 * they do not pay for the input.
 */
export function affordableOutputTokens(
  price: Price,
  inputTokens: number,
  nanos: bigint,
  options: { factorPpm: number; maxTokens: number },
): number {
  const remaining = nanos - maxCostOf(price, inputTokens, 0, options.factorPpm)
  if (remaining < 0n) return -1
  const perToken = larger(price.output, price.reasoning) * BigInt(options.factorPpm)
  if (perToken === 0n) return options.maxTokens
  const tokens = (remaining * scale) / perToken
  return tokens > BigInt(options.maxTokens) ? options.maxTokens : Number(tokens)
}
