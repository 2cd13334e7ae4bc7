/**
 * A streamed answer on its way in. Until the first content, thinking or tool call its events wait here, for another
 * upstream may still take over unseen; from then on it belongs to its caller, event by event.
 */
import { EventSplitter, EventTooLarge, encodeEvent } from '../lib/sse.ts'
import type { ServerEvent } from '../lib/sse-event.ts'
import type { StreamTranslation } from '../providers/provider.ts'
import { fault, faultOfError, type Fault } from './fault.ts'
import { Meter, type ChunkFacts } from './meter.ts'

export interface StreamSink {
  /** One event as it goes out; the bytes are valid only during the call. */
  onChunk(bytes: Buffer, facts: ChunkFacts): void
  /** The stream has said that it is complete. */
  onComplete(): void
  /** The stream broke off, or told an error. */
  onBroken(found: Fault): void
}

interface Waiting {
  readonly bytes: Buffer
  readonly facts: ChunkFacts
}

/** How a stream ended: complete, or with a fault. */
type End = 'complete' | Fault

const doneText = '[DONE]'
const openBrace = 0x7b

/** One event's bytes to the events that go out, metered. `onCommit` is told at the first that commits. */
export class UpstreamStream {
  readonly meter = new Meter()
  readonly #splitter: EventSplitter
  readonly #translation: StreamTranslation | null
  readonly #credential: string
  readonly #onCommit: () => void
  readonly #maxBytes: number
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #sink: StreamSink | null = null
  #end: End | null = null
  #isCommitted = false
  #sawDone = false

  constructor(options: {
    translation: StreamTranslation | null
    credential: string
    maxEventBytes: number
    onCommit: () => void
  }) {
    this.#translation = options.translation
    this.#credential = options.credential
    this.#maxBytes = options.maxEventBytes
    this.#onCommit = options.onCommit
    this.#splitter = new EventSplitter((event) => this.#onEvent(event), options.maxEventBytes)
  }

  get isCommitted(): boolean {
    return this.#isCommitted
  }

  /** Set once the stream is over. */
  get end(): End | null {
    return this.#end
  }

  /** Takes bytes as they arrive. */
  push(chunk: Buffer): void {
    if (this.#end !== null) return
    try {
      this.#splitter.push(chunk)
    } catch (error) {
      const tooLarge = error instanceof EventTooLarge
      const why = tooLarge ? error.message : 'The stream of the provider could not be read.'
      this.#finish(fault('garbage', why))
    }
  }

  /** The upstream has ended its answer. Without a finish or `[DONE]` it was cut off. */
  close(): void {
    if (this.#end !== null) return
    const rest = this.#splitter.end()
    if (rest?.hasData && rest.text.trim() === doneText) this.#sawDone = true
    if (this.#translation) for (const payload of this.#translation.end()) this.#onPayload(payload, null)
    const complete = this.#sawDone || this.meter.finish !== null
    this.#finish(complete ? 'complete' : fault('connection', 'The stream ended before it was complete.'))
  }

  /** The connection has failed. */
  break(found: Fault): void {
    if (this.#end === null) this.#finish(found)
  }

  /** From here on events go to the sink, those that waited first. */
  attach(sink: StreamSink): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { bytes, facts } of waiting) sink.onChunk(bytes, facts)
    this.#sink = sink
    this.#tellEnd()
  }

  #onEvent(event: ServerEvent): void {
    if (!event.hasData || this.#end !== null) return
    if (this.#translation) {
      for (const payload of this.#translation.take({ name: event.name, text: event.text })) {
        this.#onPayload(payload, null)
      }
      return
    }
    this.#onPayload(event.text, event)
  }

  #onPayload(text: string, event: ServerEvent | null): void {
    if (this.#end !== null) return
    if (text.charCodeAt(0) !== openBrace && text.trim() === doneText) {
      this.#sawDone = true
      this.#finish('complete')
      return
    }
    const chunk: unknown = JSON.parse(text)
    const facts = this.meter.take(chunk)
    if (facts.error !== undefined && facts.error !== null) {
      this.#finish(faultOfError(chunk, this.#credential))
      return
    }
    this.#pass(event ? event.plain : encodeEvent(text), facts)
    if (!this.#isCommitted && (facts.hasContent || facts.hasFinish)) {
      this.#isCommitted = true
      this.#onCommit()
    }
  }

  #pass(bytes: Buffer, facts: ChunkFacts): void {
    if (this.#sink) {
      this.#sink.onChunk(bytes, facts)
      return
    }
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > this.#maxBytes) {
      this.#finish(fault('garbage', 'The stream of the provider has too much before its first content.'))
      return
    }
    this.#waiting.push({ bytes: Buffer.from(bytes), facts })
  }

  #finish(end: End): void {
    this.#end = end
    this.#tellEnd()
  }

  #tellEnd(): void {
    if (!this.#sink || this.#end === null) return
    if (this.#end === 'complete') this.#sink.onComplete()
    else this.#sink.onBroken(this.#end)
  }
}
