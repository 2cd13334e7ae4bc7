/**
 * Passes a stream in Anthropic's format through to a caller of the same format: every event unchanged, the last one
 * when the response is paid for.
 */
import { getNumber, getString, isObject } from '../providers/json-fields.ts'
import { BlockLog, messageStop } from './messages-events.ts'
import type { MessagesConclusion } from './messages-stream.ts'
import { normalizedBytes, type ReceivedEvent } from './received-event.ts'

export class MessagesPassthrough {
  readonly #meter: { readonly tokens: number }
  readonly #log = new BlockLog()
  #stopEvent: Buffer = messageStop

  /** `meter` must have read each event before it is encoded. */
  constructor(meter: { readonly tokens: number }) {
    this.#meter = meter
  }

  encode(_chunk: unknown, _facts: unknown, event: ReceivedEvent | null): Buffer | null {
    if (!event) return null
    switch (event.name === '' ? eventType(event.text) : event.name) {
      case 'content_block_start':
        this.#log.start(blockIndex(event.text), this.#meter.tokens)
        break
      case 'content_block_stop':
        this.#log.stop(blockIndex(event.text), this.#meter.tokens)
        break
      case 'message_stop':
        this.#stopEvent = Buffer.from(normalizedBytes(event))
        return null
    }
    return normalizedBytes(event)
  }

  finalEvents({ cutBy, paidTokens, usage }: MessagesConclusion): Buffer[] {
    if (cutBy === null) return [this.#stopEvent]
    return cutBy === 'money' ? this.#log.outOfCreditEvents(paidTokens, usage) : this.#log.maximumEvents(usage)
  }
}

function eventType(text: string): string {
  const event: unknown = JSON.parse(text)
  return (isObject(event) ? getString(event, 'type') : undefined) ?? ''
}

function blockIndex(text: string): number {
  const event: unknown = JSON.parse(text)
  return (isObject(event) ? getNumber(event, 'index') : undefined) ?? 0
}
