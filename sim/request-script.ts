/** What the caller and the upstream of a simulated request will do. */
import type { IdempotencyClaim } from '../src/ledger/events.ts'
import type { Usage } from '../src/ledger/price.ts'
import { createUsage } from '../src/providers/usage.ts'
import type { SimHoldOptions } from './messages.ts'

export interface RequestScript {
  readonly options: SimHoldOptions
  /** What its provider will bill. */
  readonly input: number
  readonly output: number
  /** The upstream obeys the maximum of output tokens. */
  readonly obeys: boolean
  /** Output tokens that its provider reports beyond what it wrote. */
  readonly reportsMore: number
  /** The most web searches that it may make. */
  readonly offered: number
  /** The output tokens after which it makes each of its searches. */
  readonly searchesAt: readonly number[]
  /** The caller disconnects before the first content. */
  readonly leavesEarly: boolean
  /** The upstream has responded with 2xx before its first content. */
  readonly hasBegun: boolean
  /** The upstream fails after this many tokens. */
  readonly failsAt: number | null
  /** Its `Idempotency-Key`, which an earlier request may have used. */
  readonly claim: IdempotencyClaim | null
}

/** The searches that the upstream makes for this much output. */
export function searchesIn({ searchesAt }: RequestScript, output: number): number {
  return searchesAt.filter((at) => at < output).length
}

/** What the provider bills for this much output. */
export function billedUsage(script: RequestScript, output: number): Usage {
  const reported = output + script.reportsMore
  return createUsage({ input: script.input, output: reported, searches: searchesIn(script, output) })
}

/**
 * What is charged of a bill at most: the output up to the maximum or what was delivered, whichever is more, and the searches
 * that were offered.
 */
export function boundOf({ offered }: RequestScript, usage: Usage, maxTokens: number): Usage {
  const { output, searches = 0 } = usage
  return createUsage({
    ...usage,
    output: Math.min(output, maxTokens),
    searches: Math.min(searches, offered),
  })
}
