/**
 * The most that tokens can cost before it is known what kinds they are, which of several prices applies, and which service
 * tier serves the request: what a hold covers.
 */
import { modalities, modalityNames, type ImageToolTokens, type Modality } from '../providers/usage.ts'
import { tierFactor, type Price, type TokenRates } from './price.ts'

/** What a request asks for beside text at the default tier. */
export interface HoldTerms {
  /** The service tier, unless it is the default one. */
  readonly tier?: string
  /** Kinds of tokens that the request may cause; of images and audio in the input and the output. */
  readonly modality?: readonly Modality[]
  /** The dearest tool that the provider may run: how many of its calls are held at first. */
  readonly tool?: ToolTerms & { readonly calls: number }
}

/** What a call costs: the fee of this name in `perToolCall`, or these tokens of images, whichever is more. */
export interface ToolTerms {
  readonly name: string
  readonly tokens?: ImageToolTokens
}

/** What the cost of a call depends on. */
interface CallTerms {
  readonly price: Price
  readonly factorPpm: number
  /** The estimate, as for `boundOf`. */
  readonly inputTokens: number
  readonly terms?: HoldTerms | undefined
}

/** Nanos per million tokens; `perRequest` is nanos. */
export interface CostBound {
  readonly maxInput: bigint
  readonly maxOutput: bigint
  readonly perRequest: bigint
}

const million = 1_000_000n
const scale = million * million
/** The estimate counts four bytes as a token, and no token is shorter than one. */
const tokensPerEstimated = 4

/** @param inputTokens the estimate, by which the prices above a length of the input are reachable or not */
export function boundOf(price: Price, inputTokens: number, terms?: HoldTerms): CostBound {
  const { perRequest, above } = price
  const kinds = terms?.modality
  let [maxInput, maxOutput] = [inputRate(price, kinds), outputRate(price, kinds)]
  if (above) {
    for (const rates of above) {
      if (inputTokens * tokensPerEstimated <= rates.above) break
      maxInput = larger(maxInput, inputRate(rates, kinds))
      maxOutput = larger(maxOutput, outputRate(rates, kinds))
    }
  }
  const tier = tierFactor(price, terms?.tier) ?? 0
  // The dearer of the requested tier and the default one.
  if (tier <= Number(million)) return { maxInput, maxOutput, perRequest }
  return { maxInput: times(maxInput, tier), maxOutput: times(maxOutput, tier), perRequest }
}

function times(rate: bigint, ppm: number): bigint {
  return (rate * BigInt(ppm) + million - 1n) / million
}

function larger(a: bigint, b: bigint | null | undefined): bigint {
  return b !== null && b !== undefined && b > a ? b : a
}

function inputRate(rates: TokenRates, kinds: HoldTerms['modality']): bigint {
  const written = larger(larger(rates.input, rates.cacheWrite), rates.cacheWrite1h)
  return withModality(larger(written, rates.cachedInput), rates, kinds, false)
}

function outputRate(rates: TokenRates, kinds: HoldTerms['modality']): bigint {
  return withModality(larger(rates.output, rates.reasoning), rates, kinds, true)
}

function withModality(
  rate: bigint,
  rates: TokenRates,
  kinds: HoldTerms['modality'],
  isOutput: boolean,
): bigint {
  if (!rates.modality || !kinds) return rate
  let maximum = rate
  for (const name of modalityNames) {
    if (kinds.includes(name) && (modalities[name] === 'output') === isOutput)
      maximum = larger(maximum, rates.modality[name])
  }
  return maximum
}

/** The fees of this many web searches, and of the calls of tools, in nanos. */
export function feesToHold(held: CallTerms, searches: number): bigint {
  const { price, factorPpm, terms } = held
  const calls = terms?.tool ? BigInt(terms.tool.calls) * callCost(held, terms.tool) : 0n
  return scaled(BigInt(searches) * (price.perSearch ?? 0n) + calls, factorPpm)
}

/** The fees of further calls in a stream: of the tool that its hold names, else of web searches. */
export function feesOfCalls(held: CallTerms, calls: number): bigint {
  const { price, factorPpm, terms } = held
  const cost = terms?.tool ? callCost(held, terms.tool) : (price.perSearch ?? 0n)
  return scaled(BigInt(calls) * cost, factorPpm)
}

const imageTokens: readonly Modality[] = ['inputImage', 'outputImage']

/** The most that a call costs, in nanos before the account's factor. */
export function callCost(
  { price, inputTokens, terms }: Omit<CallTerms, 'factorPpm'>,
  { name, tokens }: ToolTerms,
): bigint {
  const { perToolCall } = price
  const fee = (perToolCall && Object.hasOwn(perToolCall, name) ? perToolCall[name] : undefined) ?? 0n
  if (!tokens) return fee
  const costBound = boundOf(price, inputTokens, { ...terms, modality: imageTokens })
  const cost = maxCostOf({ ...costBound, perRequest: 0n }, tokens.input, tokens.output, Number(million))
  return larger(fee, cost)
}

function scaled(fees: bigint, factorPpm: number): bigint {
  return fees === 0n ? 0n : (fees * BigInt(factorPpm) + million - 1n) / million
}

/** The maximum cost of this many tokens, whatever kinds they turn out to be. Searches and calls of tools come on top. */
export function maxCostOf(
  { maxInput, maxOutput, perRequest }: CostBound,
  inputTokens: number,
  outputTokens: number,
  factorPpm: number,
): bigint {
  const tokens = BigInt(inputTokens) * maxInput + BigInt(outputTokens) * maxOutput
  return ((tokens + perRequest * million) * BigInt(factorPpm) + scale - 1n) / scale
}

/**
 * How many output tokens `nanos` certainly pay for in addition to the input, at most `maxTokens`. Negative if
 * they do not pay for the input.
 */
export function affordableOutputTokens(
  bound: CostBound,
  inputTokens: number,
  nanos: bigint,
  options: { factorPpm: number; maxTokens: number },
): number {
  const remaining = nanos - maxCostOf(bound, inputTokens, 0, options.factorPpm)
  if (remaining < 0n) return -1
  const perToken = bound.maxOutput * BigInt(options.factorPpm)
  if (perToken === 0n) return options.maxTokens
  const tokens = (remaining * scale) / perToken
  return tokens > BigInt(options.maxTokens) ? options.maxTokens : Number(tokens)
}
