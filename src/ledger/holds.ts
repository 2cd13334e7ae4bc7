/**
 * How much to hold for a request. A stream is held in chunks and extended on the way. A non-streaming request
 * cannot be extended and is held at its maximum. A model with hidden reasoning is held like a non-streaming
 * request, but at a larger default. docs/money.md, "Holds", has the sizes.
 */
import { maxCostOf, affordableOutputTokens, type Price } from './price.ts'

export const streamChunkTokens = 2048
export const minChunkTokens = 64
export const minOutputTokens = 16
export const nonStreamingTokens = 1024
export const hiddenReasoningTokens = 8192
/** A hold takes at most this fraction of the available money, so that many requests can run at once. */
const holdDivisor = 16n

export interface HoldOptions {
  readonly price: Price
  readonly factorPpm: number
  readonly inputTokens: number
  /** The number of results requested. Each of them produces output. */
  readonly results: number
  /** The caller's maximum of output tokens per result, if given. */
  readonly requestedTokens: number | null
  /** The model's maximum of output tokens per result. */
  readonly modelTokens: number
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
}

/**
 * Output tokens, over all results, that a sixteenth of the available money pays for in addition to the input.
 * At least 0.
 */
function tokensPerHoldShare(options: HoldOptions, available: bigint, maxTokens: number): number {
  const { price, factorPpm, inputTokens } = options
  return Math.max(
    0,
    affordableOutputTokens(price, inputTokens, available / holdDivisor, { factorPpm, maxTokens }),
  )
}

/** The size of a new hold, or `null` if the available money does not pay for a useful response. */
export function sizeOfHold(options: HoldOptions, available: bigint): HoldSize | null {
  const { price, factorPpm, inputTokens, results } = options
  const requested = Math.min(options.requestedTokens ?? options.modelTokens, options.modelTokens)
  const maxTokens = requested * results
  const affordable = affordableOutputTokens(price, inputTokens, available, { factorPpm, maxTokens })
  const defaultTokens = options.mode === 'hidden' ? hiddenReasoningTokens : nonStreamingTokens
  const minTokens = Math.min(requested, options.mode === 'hidden' ? defaultTokens : minOutputTokens)
  const affordablePerResult = Math.floor(affordable / results)
  if (affordable < 0 || affordablePerResult < minTokens) return null

  if (options.mode === 'stream') {
    const chunk = Math.min(
      streamChunkTokens,
      Math.max(minChunkTokens, tokensPerHoldShare(options, available, maxTokens)),
    )
    const outputTokens = Math.min(chunk, affordable)
    return {
      amount: maxCostOf(price, inputTokens, outputTokens, factorPpm),
      outputTokens,
      maximumTokens: affordablePerResult < requested ? affordablePerResult : null,
    }
  }
  const defaultPerResult = Math.max(
    defaultTokens,
    Math.floor(tokensPerHoldShare(options, available, maxTokens) / results),
  )
  const perResult = Math.min(affordablePerResult, requested, options.requestedTokens ?? defaultPerResult)
  return {
    amount: maxCostOf(price, inputTokens, perResult * results, factorPpm),
    outputTokens: perResult * results,
    maximumTokens: perResult < requested ? perResult : null,
  }
}

/**
 * The next chunk of a running stream, in tokens; 0 if the money does not even pay for the smallest useful
 * one. `remaining` is how many output tokens the stream may still produce.
 */
export function sizeOfExtension(options: HoldOptions, available: bigint, remaining: number): number {
  const extensionOptions: HoldOptions = {
    ...options,
    inputTokens: 0,
    price: { ...options.price, perRequest: 0n },
  }
  const affordable = tokensPerHoldShare(extensionOptions, available * holdDivisor, remaining)
  const chunk = Math.max(minChunkTokens, tokensPerHoldShare(extensionOptions, available, streamChunkTokens))
  const tokens = Math.min(chunk, affordable)
  return tokens < Math.min(minOutputTokens, remaining) ? 0 : tokens
}
