/**
 * How much is set aside. A stream is held in chunks that are extended on the way, a whole answer at its
 * maximum, for it cannot be extended; a model that thinks unseen like a whole answer, but larger.
 * The sizes are those of docs/money.md, "Holds".
 */
import { ceilingOf, payableOutputOf, type Price } from './price.ts'

export const streamChunkTokens = 2048
export const leastChunkTokens = 64
export const leastOutputTokens = 16
export const wholeTokens = 1024
export const hiddenReasoningTokens = 8192
/** A hold takes no more than this part of what is available, so that many can run at once. */
const share = 16n

export interface Terms {
  readonly price: Price
  readonly factorPpm: number
  readonly inputTokens: number
  /** Results asked for; output counts so many times. */
  readonly results: number
  /** The caller's maximum of output tokens per result, if given. */
  readonly askedTokens: number | null
  /** The most that the model can write per result. */
  readonly modelTokens: number
  /** `stream`: in chunks. `whole`: at its maximum. `hidden`: a model that thinks unseen, streamed or not. */
  readonly manner: 'stream' | 'whole' | 'hidden'
}

export interface Size {
  readonly amount: bigint
  /** Output tokens that the amount pays, over all results. */
  readonly outputTokens: number
  /** The maximum per result to send upstream, when money requires another than the caller's. */
  readonly maximumTokens: number | null
}

/** Output tokens, over all results, that a sixteenth of what is available pays beside the input; at least 0. */
function shareOf(terms: Terms, available: bigint, most: number): number {
  const { price, factorPpm, inputTokens } = terms
  return Math.max(0, payableOutputOf(price, inputTokens, available / share, { factorPpm, most }))
}

/** The size of a new hold, or `null` when what is available does not pay a useful answer. */
export function sizeOfHold(terms: Terms, available: bigint): Size | null {
  const { price, factorPpm, inputTokens, results } = terms
  const wanted = Math.min(terms.askedTokens ?? terms.modelTokens, terms.modelTokens)
  const most = wanted * results
  const payable = payableOutputOf(price, inputTokens, available, { factorPpm, most })
  const usual = terms.manner === 'hidden' ? hiddenReasoningTokens : wholeTokens
  const least = Math.min(wanted, terms.manner === 'hidden' ? usual : leastOutputTokens)
  const payablePerResult = Math.floor(payable / results)
  if (payable < 0 || payablePerResult < least) return null

  if (terms.manner === 'stream') {
    const chunk = Math.min(streamChunkTokens, Math.max(leastChunkTokens, shareOf(terms, available, most)))
    const outputTokens = Math.min(chunk, payable)
    return {
      amount: ceilingOf(price, inputTokens, outputTokens, factorPpm),
      outputTokens,
      maximumTokens: payablePerResult < wanted ? payablePerResult : null,
    }
  }
  const unasked = Math.max(usual, Math.floor(shareOf(terms, available, most) / results))
  const perResult = Math.min(payablePerResult, wanted, terms.askedTokens ?? unasked)
  return {
    amount: ceilingOf(price, inputTokens, perResult * results, factorPpm),
    outputTokens: perResult * results,
    maximumTokens: perResult < wanted ? perResult : null,
  }
}

/**
 * The next chunk of a running stream, in tokens; 0 when not even the least useful one is paid for.
 * `remaining`: output tokens that the stream may still write.
 */
export function sizeOfExtension(terms: Terms, available: bigint, remaining: number): number {
  const more: Terms = { ...terms, inputTokens: 0, price: { ...terms.price, perRequest: 0n } }
  const payable = shareOf(more, available * share, remaining)
  const chunk = Math.max(leastChunkTokens, shareOf(more, available, streamChunkTokens))
  const tokens = Math.min(chunk, payable)
  return tokens < Math.min(leastOutputTokens, remaining) ? 0 : tokens
}
