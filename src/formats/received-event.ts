/** An event of a stream as it was received, which passes through to the caller. */
import { encodeSseEvent } from '../lib/sse/sse-parser.ts'

export interface ReceivedEvent {
  readonly name: string
  readonly text: string
  /** Its bytes, including the blank line that ends it. */
  readonly raw: Buffer
}

const lf = 0x0a

/** The event's own bytes, or encoded anew if it does not end with line feeds. */
export function normalizedBytes({ raw, text, name }: ReceivedEvent): Buffer {
  const isPlain = raw.at(-1) === lf && raw.at(-2) === lf
  return isPlain ? raw : encodeSseEvent(text, name === '' ? undefined : name)
}
