/**
 * Encodes the events of a response and numbers them. A stream may be cut after some number of output tokens, and what
 * follows must continue the numbers of what was sent: so it records which events and items belong to which position.
 */
import { encodeSseEvent } from '../lib/sse/sse-parser.ts'
import type { Json } from '../providers/json-fields.ts'
import type { OutputListener } from './responses-output.ts'

/** What has been sent of a response up to a position. */
export interface SentPart {
  /** The number of the next event. */
  readonly nextNumber: number
  /** The items that are complete. */
  readonly output: readonly Json[]
}

export class ResponsesEventLog implements OutputListener {
  #events: Buffer[] = []
  #nextNumber = 0
  /** Output tokens so far. */
  tokens = 0
  /** The next number after the events up to a position: tokens and numbers in turn. */
  readonly #marks: number[] = []
  readonly #items: { readonly index: number; readonly item: Json; readonly tokens: number }[] = []

  onEvent(type: string, fields: Json): void {
    this.#events.push(encodeResponsesEvent(type, this.#nextNumber++, fields))
  }

  onItem(index: number, item: Json): void {
    this.#items.push({ index, item, tokens: this.tokens })
  }

  /** No event has been encoded. */
  get isEmpty(): boolean {
    return this.#nextNumber === 0
  }

  /** The items that are complete, in the order of the output. */
  get output(): Json[] {
    return this.sentBy(Infinity).output.slice()
  }

  /** The events since the last call; `null`: none. */
  take(): Buffer | null {
    if (this.#events.length === 0) return null
    const joined = this.#events.length === 1 ? (this.#events[0] as Buffer) : Buffer.concat(this.#events)
    this.#events = []
    this.#marks.push(this.tokens, this.#nextNumber)
    return joined
  }

  /** What was taken up to this many output tokens. */
  sentBy(tokens: number): SentPart {
    const marks = this.#marks
    let at = marks.length - 2
    while (at >= 0 && (marks[at] ?? 0) > tokens) at -= 2
    const sent = this.#items.filter((each) => each.tokens <= tokens)
    const output = sent.toSorted((left, right) => left.index - right.index).map(({ item }) => item)
    return { nextNumber: at < 0 ? 0 : (marks[at + 1] ?? 0), output }
  }
}

export function encodeResponsesEvent(type: string, sequence: number, fields: Json): Buffer {
  return encodeSseEvent(JSON.stringify({ type, sequence_number: sequence, ...fields }), type)
}
