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

  constructor(events: EventCollector) {
    this.#events = events
  }

  encode(_chunk: unknown, _facts: unknown, event: SseEvent | null): null {
    const json: unknown = event && JSON.parse(event.text)
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
