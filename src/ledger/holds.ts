/**
 * How much to hold for a request. A stream is held in chunks and extended on the way. A non-streaming request
 * cannot be extended and is held at its maximum. A model with hidden reasoning is held like a non-streaming
 * request, but at a larger default. docs/money.md, "Holds", has the sizes.
 */
import {
  affordableOutputTokens,
  boundOf,
  feesToHold,
  maxCostOf,
  type CostBound,
  type HoldTerms,
} from './cost-bound.ts'
import type { Price } from './price.ts'

export const streamChunkTokens = 2048
export const minChunkTokens = 64
export const minOutputTokens = 16
export const nonStreamingTokens = 1024
export const hiddenReasoningTokens = 8192
/** A hold takes at most this fraction of the available money, so that many requests can run at once. */
const holdDivisor = 16n

/** What the cost of a request depends on besides its output. */
interface PricedInput {
  readonly price: Price
  readonly factorPpm: number
  readonly inputTokens: number
  /** Absent for most requests. */
  readonly terms?: HoldTerms | undefined
}

export interface HoldOptions extends PricedInput {
  /** Web searches that are held in addition. */
  readonly searches: number
  /** The number of results requested. Each of them produces output. */
  readonly results: number
  /** The caller's maximum of output tokens per result, if given. */
  readonly requestedTokens: number | null
  /** The model's maximum of output tokens per result. */
  readonly modelTokens: number
  /** Whether the model's upstreams have been seen to obey a maximum of output tokens. */
  readonly maximum: 'unseen' | 'obeyed' | 'exceeded'
  /**
   * `stream`: held in chunks. `non-streaming`: held at its maximum. `hidden`: a model with hidden reasoning,
   * streaming or not.
   */
  readonly mode: 'stream' | 'non-streaming' | 'hidden'
}

export interface HoldSize {
  readonly amount: bigint
  /** Output tokens that the amount pays for, over all results. */
  readonly outputTokens: number
  /**
   * The maximum per result to send to the upstream, if it has to be lower than the caller's. null: unchanged.
   */
  readonly maximumTokens: number | null
  /**
   * The upstream may write more than the account can pay for, whatever maximum it is sent: only one such request of an
   * account may run at once.
   */
  readonly isAll: boolean
}

/**
 * Output tokens, over all results, that a sixteenth of the available money pays for in addition to the input.
 * At least 0.
 */
function tokensPerHoldShare(
  bound: CostBound,
  { factorPpm, inputTokens }: Pick<PricedInput, 'factorPpm' | 'inputTokens'>,
  available: bigint,
  maxTokens: number,
): number {
  return Math.max(
    0,
    affordableOutputTokens(bound, inputTokens, available / holdDivisor, { factorPpm, maxTokens }),
  )
}

/**
 * The output tokens per result that a request may cause. On a route that has not been seen to obey the maximum, a small
 * maximum holds no less than none would; on one that exceeded it, nothing less than the model's maximum is safe.
 */
function possibleTokens({ requestedTokens, modelTokens, maximum, mode }: HoldOptions): number {
  if (requestedTokens === null || maximum === 'exceeded') return modelTokens
  if (maximum === 'obeyed') return Math.min(requestedTokens, modelTokens)
  const minTokens = mode === 'stream' ? streamChunkTokens : defaultTokensOf(mode)
  return Math.min(Math.max(requestedTokens, minTokens), modelTokens)
}

function defaultTokensOf(mode: HoldOptions['mode']): number {
  return mode === 'hidden' ? hiddenReasoningTokens : nonStreamingTokens
}

/**
 * Of the held output, what the rate limits count. Without a maximum, an account with much money holds much more than most
 * responses need; its balance must not use up its tokens per minute.
 */
export function heldTokensToCount(options: HoldOptions, outputTokens: number): number {
  const { requestedTokens, maximum, mode, results } = options
  if (requestedTokens !== null || maximum === 'exceeded') return outputTokens
  return Math.min(outputTokens, (mode === 'stream' ? streamChunkTokens : defaultTokensOf(mode)) * results)
}

/** The size of a new hold, or `null` if the available money does not pay for a useful response. */
export function sizeOfHold(options: HoldOptions, available: bigint): HoldSize | null {
  const { price, factorPpm, inputTokens, results, searches, mode, maximum, requestedTokens } = options
  const costBound = boundOf(price, inputTokens, options.terms)
  const fees = feesToHold(options, searches)
  const left = available - fees
  const requested = Math.min(requestedTokens ?? options.modelTokens, options.modelTokens)
  const possible = possibleTokens(options)
  const maxTokens = possible * results
  const affordable = affordableOutputTokens(costBound, inputTokens, left, { factorPpm, maxTokens })
  const minTokens = Math.min(requested, mode === 'hidden' ? hiddenReasoningTokens : minOutputTokens)
  const affordablePerResult = Math.floor(affordable / results)
  if (affordable < 0 || affordablePerResult < minTokens) return null
  const maximumTokens = affordablePerResult < requested ? affordablePerResult : null

  if (mode === 'stream' && maximum !== 'exceeded') {
    const share = tokensPerHoldShare(costBound, options, left, maxTokens)
    const outputTokens = Math.min(Math.max(minChunkTokens, share), streamChunkTokens, affordable)
    const amount = maxCostOf(costBound, inputTokens, outputTokens, factorPpm) + fees
    return { amount, outputTokens, maximumTokens, isAll: false }
  }
  const share = Math.floor(tokensPerHoldShare(costBound, options, left, maxTokens) / results)
  const usesDefault = requestedTokens === null && maximum !== 'exceeded'
  const wanted = usesDefault ? Math.max(defaultTokensOf(mode), share) : possible
  const perResult = Math.min(affordablePerResult, wanted, possible)
  const neededTokens = { obeyed: 0, unseen: defaultTokensOf(mode), exceeded: possible }[maximum]
  return {
    amount: maxCostOf(costBound, inputTokens, perResult * results, factorPpm) + fees,
    outputTokens: perResult * results,
    maximumTokens: perResult < requested ? perResult : null,
    isAll: perResult < Math.min(neededTokens, possible),
  }
}

/**
 * The next chunk of a running stream, in tokens; 0 if the money does not even pay for the smallest useful
 * one. `remaining` is how many output tokens the stream may still produce.
 */
export function sizeOfExtension(held: PricedInput, available: bigint, remaining: number): number {
  const costBound = { ...boundOf(held.price, held.inputTokens, held.terms), perRequest: 0n }
  const options = { factorPpm: held.factorPpm, inputTokens: 0 }
  const affordable = tokensPerHoldShare(costBound, options, available * holdDivisor, remaining)
  const chunk = Math.max(minChunkTokens, tokensPerHoldShare(costBound, options, available, streamChunkTokens))
  const tokens = Math.min(chunk, affordable)
  return tokens < Math.min(minOutputTokens, remaining) ? 0 : tokens
}
