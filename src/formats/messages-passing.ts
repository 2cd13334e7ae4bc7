/**
 * A streamed answer of Anthropic's that goes to a caller of its format: every event as it came, the last one when the
 * answer is paid for.
 */
import { encodeEvent } from '../lib/sse/sse-parser.ts'
import { numberIn, textIn } from '../providers/json-fields.ts'
import { isObject } from '../providers/usage.ts'
import { BlockLog, blockStop, messageStop, shortEnd } from './messages-events.ts'
import type { Ended } from './messages-stream.ts'

/** An event as it came. */
export interface CameEvent {
  readonly name: string
  readonly text: string
  /** Its bytes, with the blank line that ends it. */
  readonly raw: Buffer
}

const lf = 0x0a

/** The event's own bytes; written anew where they end otherwise than with line feeds. */
function bytesOf({ raw, text, name }: CameEvent): Buffer {
  const isPlain = raw.at(-1) === lf && raw.at(-2) === lf
  return isPlain ? raw : encodeEvent(text, name === '' ? undefined : name)
}

export class MessagesPassing {
  readonly #meter: { readonly tokens: number }
  readonly #log = new BlockLog()
  #last: Buffer = messageStop

  /** `meter` has read each event before it is taken. */
  constructor(meter: { readonly tokens: number }) {
    this.#meter = meter
  }

  take(event: CameEvent): Buffer | null {
    switch (event.name === '' ? typeIn(event.text) : event.name) {
      case 'content_block_start':
        this.#log.start(indexIn(event.text), this.#meter.tokens)
        break
      case 'content_block_stop':
        this.#log.stop(indexIn(event.text), this.#meter.tokens)
        break
      case 'message_stop':
        this.#last = Buffer.from(bytesOf(event))
        return null
    }
    return bytesOf(event)
  }

  conclude({ isShort, paid, usage }: Ended): Buffer[] {
    if (!isShort) return [this.#last]
    return [...this.#log.openAt(paid).map(blockStop), shortEnd(usage), messageStop]
  }
}

function typeIn(text: string): string {
  const event: unknown = JSON.parse(text)
  return (isObject(event) ? textIn(event, 'type') : undefined) ?? ''
}

function indexIn(text: string): number {
  const event: unknown = JSON.parse(text)
  return (isObject(event) ? numberIn(event, 'index') : undefined) ?? 0
}
