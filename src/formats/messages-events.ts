/** The events of a streamed answer in Anthropic's format, and what of them has been said when an answer ends early. */
import type { Json } from '../providers/json-fields.ts'
import type { TokenUsage } from '../providers/usage.ts'
import { encodeEvent } from '../lib/sse/sse-parser.ts'

/** An event, named by its type. */
export function eventOf(type: string, fields: Json): Buffer {
  return encodeEvent(JSON.stringify({ type, ...fields }), type)
}

export const ping: Buffer = eventOf('ping', {})
export const messageStop: Buffer = eventOf('message_stop', {})

/** Usage as the format writes it: what was read from and written to the cache stands beside `input_tokens`. */
export function usageOfMessage(usage: TokenUsage): Json {
  const { reasoning } = usage
  return {
    input_tokens: usage.input - usage.cachedInput - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    ...(usage.cacheWrite1h ? { cache_creation: keptTimes(usage.cacheWrite, usage.cacheWrite1h) } : {}),
    cache_read_input_tokens: usage.cachedInput,
    output_tokens: usage.output,
    ...(usage.searches ? { server_tool_use: { web_search_requests: usage.searches } } : {}),
    ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
  }
}

function keptTimes(written: number, long: number): Json {
  return { ephemeral_5m_input_tokens: written - long, ephemeral_1h_input_tokens: long }
}

export function blockStop(index: number): Buffer {
  return eventOf('content_block_stop', { index })
}

export interface Stop {
  readonly reason: string
  /** The caller's own word that ended the answer. */
  readonly sequence: string | null
}

/** Why the answer ended, and its bill; `more`: what the format has no field for. */
export function messageDelta({ reason, sequence }: Stop, usage: TokenUsage, more: Json = {}): Buffer {
  const delta = { stop_reason: reason, stop_sequence: sequence }
  return eventOf('message_delta', { delta, usage: usageOfMessage(usage), ...more })
}

/** Where the money ends, the answer ends as one that reached its maximum, and says why. */
export function shortEnd(usage: TokenUsage): Buffer {
  const stop = { reason: 'max_tokens', sequence: null }
  return messageDelta(stop, usage, { sluice: { ended: 'insufficient_quota' } })
}

/**
 * Which blocks are open at a point of the answer. Points are output tokens, as only events up to some number of them
 * may have gone out when an answer is ended.
 */
export class BlockLog {
  readonly #blocks: { readonly index: number; readonly from: number; to: number }[] = []

  start(index: number, at: number): void {
    this.#blocks.push({ index, from: at, to: Infinity })
  }

  stop(index: number, at: number): void {
    const block = this.#blocks.findLast((each) => each.index === index)
    if (block) block.to = at
  }

  /** The blocks that had begun and not ended when so many tokens were out. */
  openAt(tokens: number): number[] {
    return this.#blocks.filter(({ from, to }) => from <= tokens && to > tokens).map(({ index }) => index)
  }
}
