/** The stream events of Anthropic's format, and which blocks are open when a stream ends early. */
import type { Json } from '../providers/json-fields.ts'
import type { TokenUsage } from '../providers/usage.ts'
import { encodeSseEvent } from '../lib/sse/sse-parser.ts'

/** Encodes an event, named by its type. */
export function encodeMessagesEvent(type: string, fields: Json): Buffer {
  return encodeSseEvent(JSON.stringify({ type, ...fields }), type)
}

export const ping: Buffer = encodeMessagesEvent('ping', {})
export const messageStop: Buffer = encodeMessagesEvent('message_stop', {})

/** Usage in Anthropic's format: tokens read from and written to the cache are not part of `input_tokens`. */
export function serializeMessagesUsage(usage: TokenUsage): Json {
  const { reasoning } = usage
  return {
    input_tokens: usage.input - usage.cachedInput - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    ...(usage.cacheWrite1h ? { cache_creation: cacheCreation(usage.cacheWrite, usage.cacheWrite1h) } : {}),
    cache_read_input_tokens: usage.cachedInput,
    output_tokens: usage.output,
    ...(usage.searches ? { server_tool_use: { web_search_requests: usage.searches } } : {}),
    ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
  }
}

function cacheCreation(written: number, long: number): Json {
  return { ephemeral_5m_input_tokens: written - long, ephemeral_1h_input_tokens: long }
}

export function contentBlockStop(index: number): Buffer {
  return encodeMessagesEvent('content_block_stop', { index })
}

export interface StopReason {
  readonly reason: string
  /** The caller's stop sequence that ended the response. */
  readonly sequence: string | null
}

export const atMaximum: StopReason = { reason: 'max_tokens', sequence: null }

/** The stop reason and the usage; `more`: fields beyond Anthropic's format. */
export function messageDelta({ reason, sequence }: StopReason, usage: TokenUsage, more: Json = {}): Buffer {
  const delta = { stop_reason: reason, stop_sequence: sequence }
  return encodeMessagesEvent('message_delta', { delta, usage: serializeMessagesUsage(usage), ...more })
}

/**
 * Records which blocks are open at a position of the response. Positions are output tokens, since only events up to
 * some number of them may have been sent when a response is ended.
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

  /**
   * The last events if the account runs out of credit after this many tokens: the blocks that were open end, and the
   * response ends as if it had reached its maximum, and says why.
   */
  outOfCreditEvents(tokens: number, usage: TokenUsage): Buffer[] {
    return this.#eventsAtMaximum(tokens, usage, { sluice: { ended: 'insufficient_quota' } })
  }

  /** The last events if the response is ended as if its upstream had obeyed the maximum. */
  maximumEvents(usage: TokenUsage): Buffer[] {
    return this.#eventsAtMaximum(Infinity, usage)
  }

  #eventsAtMaximum(tokens: number, usage: TokenUsage, more: Json = {}): Buffer[] {
    const open = this.#blocks.filter(({ from, to }) => from <= tokens && (to === Infinity || to > tokens))
    const delta = messageDelta(atMaximum, usage, more)
    return [...open.map(({ index }) => contentBlockStop(index)), delta, messageStop]
  }
}
