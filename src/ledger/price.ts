/**
 * What tokens cost. A price is whole nano-yuan per million tokens; the components of a request are
 * added up exactly, multiplied by the factor, and rounded up once to a nano. So for any split of a
 * request, cost(a) + cost(b) − cost(a + b) is 0 or 1 nano. No other place multiplies tokens by money.
 */

/** Nano-yuan per million tokens; `perRequest` and `perSearch` are nano-yuan. A component that is `null` costs as its parent. */
export interface Price {
  readonly version: number
  readonly input: bigint
  readonly output: bigint
  /** Input tokens the provider had in its cache; `null`: as input. */
  readonly cachedInput: bigint | null
  /** Input tokens the provider wrote to its cache; `null`: as input. */
  readonly cacheWrite: bigint | null
  /** Of these, tokens that the provider keeps for an hour; `null`, absent: as any other written to the cache. */
  readonly cacheWrite1h?: bigint | null
  /** Output tokens spent on thinking; `null`: as output. */
  readonly reasoning: bigint | null
  /** A fee per answered request, such as a search fee. */
  readonly perRequest: bigint
  /** For each search of the web that the provider says it did; `null`, absent: nothing. */
  readonly perSearch?: bigint | null
}

/** Token counts as the provider's invoice has them: parts are contained in their totals. */
export interface Usage {
  /** All input tokens, cached ones included. */
  readonly input: number
  /** Of the input: read from the provider's cache. */
  readonly cachedInput: number
  /** Of the input: written to the provider's cache. */
  readonly cacheWrite: number
  /** Of these: kept for an hour; absent: none. */
  readonly cacheWrite1h?: number
  /** All output tokens, reasoning included. */
  readonly output: number
  /** Of the output: spent on thinking. */
  readonly reasoning: number
  /** Searches of the web; absent: none. */
  readonly searches?: number
}

export const noUsage: Usage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** Prices are per million tokens and factors are parts per million. */
const scale = 1_000_000_000_000n
const million = 1_000_000n

/**
 * The exact sum of a request's components, before the factor: nanos × 10⁶. Parts that add up to more than their total
 * are paid as they are, and never make the rest negative.
 */
function weightOf(price: Price, usage: Usage): bigint {
  const fresh = Math.max(0, usage.input - usage.cachedInput - usage.cacheWrite)
  const written = Math.max(0, usage.output - usage.reasoning)
  let sum = BigInt(fresh) * price.input + BigInt(written) * price.output
  if (usage.cachedInput > 0) sum += BigInt(usage.cachedInput) * (price.cachedInput ?? price.input)
  if (usage.cacheWrite > 0) sum += writtenWeightOf(price, usage)
  if (usage.reasoning > 0) sum += BigInt(usage.reasoning) * (price.reasoning ?? price.output)
  if (usage.searches && price.perSearch) sum += BigInt(usage.searches) * price.perSearch * million
  return sum + price.perRequest * million
}

function writtenWeightOf(price: Price, { cacheWrite, cacheWrite1h = 0 }: Usage): bigint {
  const usual = price.cacheWrite ?? price.input
  const long = Math.min(cacheWrite1h, cacheWrite)
  if (long === 0) return BigInt(cacheWrite) * usual
  return BigInt(cacheWrite - long) * usual + BigInt(long) * (price.cacheWrite1h ?? usual)
}

/** No request costs more, whatever was typed as its price: ten million yuan, of which 64 bits hold hundreds in a sum. */
const costMost = 10n ** 16n

/** What a request costs, in nanos, rounded up once. `factorPpm`: 1,000,000 is the list price. */
export function costOf(price: Price, usage: Usage, factorPpm: number): bigint {
  const exact = weightOf(price, usage) * BigInt(factorPpm)
  const cost = (exact + scale - 1n) / scale
  return cost < costMost ? cost : costMost
}

function larger(a: bigint, b: bigint | null): bigint {
  return b !== null && b > a ? b : a
}

/** The dearest that this many tokens can cost, whatever their kinds turn out to be; searches come on top. */
export function ceilingOf(
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
 * How many output tokens `nanos` surely pay beside the input, bounded by `most`; negative when not even
 * the input is paid.
 */
export function payableOutputOf(
  price: Price,
  inputTokens: number,
  nanos: bigint,
  bound: { factorPpm: number; most: number },
): number {
  const rest = nanos - ceilingOf(price, inputTokens, 0, bound.factorPpm)
  if (rest < 0n) return -1
  const perToken = larger(price.output, price.reasoning) * BigInt(bound.factorPpm)
  if (perToken === 0n) return bound.most
  const tokens = (rest * scale) / perToken
  return tokens > BigInt(bound.most) ? bound.most : Number(tokens)
}
