/**
 * A streamed answer on its way in. Until the first content, thinking or tool call its events wait here, for another
 * upstream may still take over unseen; from then on it belongs to its caller, event by event.
 */
import { EventSplitter, EventTooLarge } from '../../lib/sse/sse-parser.ts'
import type { ServerEvent } from '../../lib/sse/sse-event.ts'
import type {
  Call,
  Chunk,
  Framing,
  StreamEvent,
  StreamTranslation,
  Translation,
} from '../../providers/provider.ts'
import { fault, faultOfError, secretsOf, type Fault } from '../routing/upstream-error.ts'
import type { StreamWords, Wording } from '../caller-format.ts'
import { Meter, type ChunkFacts } from './usage-meter.ts'

export interface StreamSink {
  /** What goes out for one event, valid only during the call, and the output tokens up to and with it. */
  onChunk(bytes: Buffer | null, upTo: number): void
  /** The stream has said that it is complete. */
  onComplete(): void
  /** The stream broke off, or told an error. */
  onBroken(found: Fault): void
}

interface Waiting {
  readonly bytes: Buffer
  readonly upTo: number
}

/** How a stream ended: complete, or with a fault. */
type End = 'complete' | Fault

const doneText = '[DONE]'
const openBrace = 0x7b
const nothingSaid: ChunkFacts = {
  hasContent: false,
  hasFinish: false,
  hasUsage: false,
  isBare: false,
  error: undefined,
}

/** One event's bytes to the events that go out, metered. `onCommit` is told at the first that commits. */
export class UpstreamStream {
  readonly meter = new Meter()
  readonly words: StreamWords
  readonly #framing: Framing | EventSplitter
  readonly #translation: StreamTranslation | null
  readonly #isOwn: boolean
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
    translation: Translation | null
    call: Call
    wording: Wording
    maxEventBytes: number
    onCommit: () => void
  }) {
    const { translation, call } = options
    this.words = options.wording.words(this.meter)
    this.#isOwn = options.wording.isOwn
    this.#translation = translation?.stream(call) ?? null
    this.#credential = secretsOf(call)
    this.#maxBytes = options.maxEventBytes
    this.#onCommit = options.onCommit
    const { maxEventBytes } = options
    this.#framing =
      translation?.framing?.((event) => this.#onForeign(event), maxEventBytes) ??
      new EventSplitter((event) => this.#onEvent(event), maxEventBytes)
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
      this.#framing.push(chunk)
    } catch (error) {
      const tooLarge = error instanceof EventTooLarge
      const why = tooLarge ? error.message : 'The stream of the provider could not be read.'
      this.#finish(fault('garbage', why))
    }
  }

  /** The upstream has ended its answer. Without a finish or `[DONE]` it was cut off. */
  close(): void {
    if (this.#end !== null) return
    const rest = this.#framing instanceof EventSplitter ? this.#framing.end() : undefined
    if (rest?.hasData && rest.text.trim() === doneText) this.#sawDone = true
    this.#conclude()
  }

  #conclude(): void {
    if (this.#translation) for (const chunk of this.#translation.end()) this.#onTranslated(chunk)
    if (this.#end !== null) return
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
    for (const { bytes, upTo } of waiting) sink.onChunk(bytes, upTo)
    this.#sink = sink
    this.#tellEnd()
  }

  #onEvent(event: ServerEvent): void {
    if (!event.hasData || this.#end !== null) return
    if (this.#translation) {
      if (this.#isOwn) this.#onOwn(event, this.#translation)
      else this.#onForeign(event)
      return
    }
    const { text } = event
    if (text.charCodeAt(0) !== openBrace && text.trim() === doneText) {
      this.#sawDone = true
      this.#finish('complete')
      return
    }
    this.#onChunk(JSON.parse(text), event)
  }

  /** An event of another dialect. */
  #onForeign(event: StreamEvent): void {
    if (this.#end !== null || !this.#translation) return
    for (const chunk of this.#translation.take(event)) this.#onTranslated(chunk)
    if (this.#translation.isOver && this.#end === null) this.#conclude()
  }

  #onTranslated(chunk: Chunk): void {
    if (this.#end !== null) return
    if (this.#isOwn) this.meter.take(chunk)
    else this.#onChunk(chunk, null)
  }

  /** An event of the caller's own format: its translation is read, and it goes out as it came. */
  #onOwn(event: ServerEvent, translation: StreamTranslation): void {
    let facts = nothingSaid
    for (const chunk of translation.take(event)) {
      const more = this.meter.take(chunk)
      if (this.#isError(chunk, more)) return
      facts = more.hasContent || more.hasFinish ? more : facts
    }
    this.#say(null, facts, event)
    if (translation.isOver) this.#conclude()
  }

  /** `event`: what it came as, when it goes out as it came. */
  #onChunk(chunk: unknown, event: ServerEvent | null): void {
    const facts = this.meter.take(chunk)
    if (!this.#isError(chunk, facts)) this.#say(chunk, facts, event)
  }

  #isError(chunk: unknown, { error }: ChunkFacts): boolean {
    if (error === undefined || error === null) return false
    this.#finish(faultOfError(chunk, this.#credential))
    return true
  }

  #say(chunk: unknown, facts: ChunkFacts, event: ServerEvent | null): void {
    this.#pass(this.words.take(chunk, facts, event))
    if (!this.#isCommitted && (facts.hasContent || facts.hasFinish)) {
      this.#isCommitted = true
      this.#onCommit()
    }
  }

  #pass(bytes: Buffer | null): void {
    const upTo = this.meter.tokens
    if (this.#sink) {
      this.#sink.onChunk(bytes, upTo)
      return
    }
    if (bytes === null) return
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > this.#maxBytes) {
      this.#finish(fault('garbage', 'The stream of the provider has too much before its first content.'))
      return
    }
    this.#waiting.push({ bytes: Buffer.from(bytes), upTo })
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
