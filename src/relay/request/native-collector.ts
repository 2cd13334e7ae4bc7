/** Collects a stream in the caller's own format into the response to which it adds up. */
import type { SseEvent } from '../../lib/sse/sse-event.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import type { StreamEncoder } from './caller-format.ts'

interface EventCollector {
  add(event: Json): void
  /** The response to which the events add up. */
  response(): Json
}

export class NativeCollector implements StreamEncoder {
  readonly #events: EventCollector
  readonly #edit: (text: string) => string

  /** `edit`: what an event must be changed in. */
  constructor(events: EventCollector, edit = (text: string): string => text) {
    this.#events = events
    this.#edit = edit
  }

  encode(_chunk: unknown, _facts: unknown, event: SseEvent | null): null {
    const json: unknown = event && JSON.parse(this.#edit(event.text))
    if (isObject(json)) this.#events.add(json)
    return null
  }

  collected(): Json {
    return this.#events.response()
  }

  finalEvents(): Buffer[] {
    return []
  }
}
