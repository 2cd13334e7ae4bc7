/**
 * Reads the stream of an upstream. Events before the first content, reasoning or tool call are buffered, since another
 * upstream may still take over. The first one commits the stream: from then on its events go to the caller. Events that
 * pass through may commit it earlier (`StreamEncoder.hasStarted`).
 */
import { billingLimitsOf } from '../../providers/billing-limits.ts'
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import { encodeSseEvent, SseParser, SseEventTooLargeError } from '../../lib/sse/sse-parser.ts'
import type { SseEvent } from '../../lib/sse/sse-event.ts'
import type {
  Chunk,
  Framing,
  ResponseIdentity,
  StreamEvent,
  StreamTranslation,
} from '../../providers/provider.ts'
import { upstreamError, upstreamErrorFromBody, type UpstreamError } from '../routing/upstream-error.ts'
import { secretsOf } from '../routing/secrets.ts'
import type { StreamEncoder } from '../request/caller-format.ts'
import type { AttemptCall } from '../routing/attempt-call.ts'
import { encodeBuffered, type BufferedResponse } from '../routing/buffered-response.ts'
import { identityIn } from '../routing/served-response.ts'
import { messageToEvents } from '../../formats/message-to-events.ts'
import { responseToEvents } from '../../formats/response-to-events.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import { responseToChunks } from '../../providers/response-to-chunks.ts'
import { ChunkTemplate } from './chunk-template.ts'
import { ModelRenaming, renameModelIn } from './model-renaming.ts'
import { cutText } from './cut-text.ts'
import { emptyFacts, textFacts, UsageMeter, type ChunkFacts } from './usage-meter.ts'

export interface StreamSink {
  /** The bytes to send for an event, valid only during the call, and the output tokens up to and including it. */
  onChunk(bytes: Buffer | null, totalTokens: number): void
  /** The stream is complete. */
  onComplete(): void
  /** It was cut, since its upstream ignores the maximum. */
  onCut(): void
  /** The stream ended early, or with an error. */
  onError(error: UpstreamError): void
}

interface StreamListener {
  onContent(): void
  onCommit(): void
}

interface PendingEvent {
  readonly bytes: Buffer
  readonly totalTokens: number
}

/** How a stream ended: complete, cut at the maximum that its upstream ignores, or with an error. */
type StreamEnd = 'complete' | 'cut' | UpstreamError

/** The output tokens that count for the maximum, by the relay's count. */
function countForMaximum(meter: UsageMeter, { provider }: AttemptCall): number {
  const { tokensWithoutRuns } = meter
  return billingLimitsOf(provider.name).excludesReasoning
    ? tokensWithoutRuns - meter.reasoningWithoutRuns
    : tokensWithoutRuns
}

const doneMarker = '[DONE]'
const openBrace = 0x7b

const asEvent = (part: unknown): StreamEvent => ({ name: '', text: JSON.stringify(part) })

/** Parses, meters and encodes events. Calls `onCommit` at the first one that commits the stream, and `onContent`. */
export class UpstreamStream {
  readonly meter: UsageMeter
  readonly encoder: StreamEncoder
  readonly #call: AttemptCall
  readonly #framing: Framing | SseParser
  readonly #translation: StreamTranslation | null
  readonly #isPassthrough: boolean
  readonly #returnedModel: string | null
  readonly #renaming: ModelRenaming | null
  /** `null`: its chunks must be parsed to be sent. */
  readonly #template: ChunkTemplate | null
  readonly #credential: string
  readonly #listener: StreamListener
  readonly #maxPendingBytes: number
  /** It is cut after this many output tokens. */
  #maxTokens: number
  /** Whether `#maxTokens` includes what an honest stream may have in addition. */
  #hasExtra = false
  /** The output tokens of the events that were encoded, and the part of them that counts for the cut. */
  encodedTokens = 0
  #countedTokens = 0
  #pending: PendingEvent[] = []
  #pendingBytes = 0
  #sink: StreamSink | null = null
  #sawDone = false
  #identity: ResponseIdentity | null = null
  isCommitted = false
  /** It has content, reasoning or a tool call, or a finish reason. */
  hasContent = false
  /** Not null once the stream has ended. */
  end: StreamEnd | null = null

  constructor(call: AttemptCall, maxEventBytes: number, listener: StreamListener) {
    const { translation } = call.provider
    this.#call = call
    this.meter = new UsageMeter(call.provider.name)
    this.encoder = call.body.streamEncoder(this.meter, call)
    this.#maxTokens = this.isCollected ? Infinity : (call.maxStreamTokens ?? Infinity)
    this.#isPassthrough = call.body.isPassthrough
    this.#returnedModel = call.returnedModel ?? null
    this.#renaming =
      this.#returnedModel === null
        ? null
        : new ModelRenaming(this.#returnedModel, this.#isPassthrough ? call.provider.nativeFormat : undefined)
    this.#translation = translation?.createStream(call) ?? null
    this.#template = !this.#translation && this.encoder.sendsEventsUnchanged ? new ChunkTemplate() : null
    this.#credential = secretsOf(call)
    this.#maxPendingBytes = maxEventBytes
    this.#listener = listener
    this.#framing =
      translation?.createFraming?.((event) => this.#onTranslatableEvent(event), maxEventBytes) ??
      new SseParser((event) => this.#onEvent(event), maxEventBytes)
  }

  /** With the upstream's own name for the model. */
  get identity(): ResponseIdentity {
    return this.#identity ?? this.#translation?.identity ?? {}
  }

  /** It is collected into a response instead of being sent. */
  get isCollected(): boolean {
    return this.encoder.collected !== undefined
  }

  /** The response to which a complete stream adds up; `null`: its events are sent, or it was empty. */
  collected(): BufferedResponse | null {
    const { encoder, meter, identity } = this
    if (!this.hasContent || !encoder.collected) return null
    const encoded = encodeBuffered(() => encoder.collected?.() ?? {})
    return { kind: 'buffered', ...encoded, meter, isEmpty: false, identity }
  }

  /** Call with bytes as they arrive. */
  push(chunk: Buffer): void {
    if (this.end !== null) return
    try {
      this.#framing.push(chunk)
    } catch (error) {
      const tooLarge = error instanceof SseEventTooLargeError
      const why = tooLarge ? error.message : 'The stream of the provider could not be parsed.'
      this.#finish(upstreamError('garbage', why))
    }
  }

  /** Reads a whole response that has come where a stream was asked for. */
  readWhole(bytes: Buffer): void {
    try {
      const json = parseBoundedJson(bytes.toString('utf8'))
      if (isObject(json)) this.#onWhole(json)
      // Without `alt=sse`, Gemini streams its events as an array.
      else for (const part of json as readonly unknown[]) this.#onTranslatableEvent(asEvent(part))
    } catch {
      this.#finish(upstreamError('garbage', 'The response of the provider could not be parsed.'))
    }
    this.close()
  }

  #onWhole(json: Json): void {
    const { provider } = this.#call
    if (this.#isPassthrough) {
      this.#framing.push(
        provider.nativeFormat === 'responses' ? responseToEvents(json) : messageToEvents(json),
      )
      return
    }
    const translated = provider.translation?.translateResponse(json, this.#call)
    this.#identity = translated?.identity ?? identityIn(json)
    for (const chunk of responseToChunks(translated?.response ?? json)) this.#onTranslated(chunk)
    this.#sawDone = true
  }

  /** The upstream has ended its response. Without a finish reason or `[DONE]` it was truncated. */
  close(): void {
    if (this.end !== null) return
    const rest = this.#framing instanceof SseParser ? this.#framing.end() : undefined
    if (rest?.hasData && rest.text.trim() === doneMarker) this.#sawDone = true
    this.#complete()
  }

  #complete(): void {
    if (this.#translation) for (const chunk of this.#translation.end()) this.#onTranslated(chunk)
    if (this.end !== null) return
    const complete = this.#sawDone || this.meter.finishReason !== null
    this.#finish(
      complete ? 'complete' : upstreamError('connection', 'The stream ended before it was complete.'),
    )
  }

  /** The connection failed. */
  fail(error: UpstreamError): void {
    if (this.end === null) this.#finish(error)
  }

  /** Sends events to the sink, the buffered ones first. */
  attach(sink: StreamSink): void {
    const pending = this.#pending
    this.#pending = []
    for (const { bytes, totalTokens } of pending) sink.onChunk(bytes, totalTokens)
    this.#sink = sink
    this.#reportEnd()
  }

  #onEvent(event: SseEvent): void {
    if (!event.hasData || event.isBlank || this.end !== null) return
    if (this.#translation) {
      if (this.#isPassthrough) this.#onNativeEvent(event, this.#translation)
      else this.#onTranslatableEvent(event)
      return
    }
    const only = event.isPlain && this.#template?.read(event.source, event.dataStart, event.dataEnd)
    if (typeof only === 'string') {
      this.#encode(
        null,
        this.meter.readText(only, this.#template?.field ?? ''),
        this.#renaming?.rename(event) ?? event,
      )
      return
    }
    const { text } = event
    if (text.charCodeAt(0) !== openBrace && text.trim() === doneMarker) {
      this.#sawDone = true
      this.#finish('complete')
      return
    }
    const chunk = parseBoundedJson(text)
    this.#identity ??= identityIn(chunk)
    this.#onChunk(chunk, event)
    if (this.#template && this.end === null) this.#template.learn(event.data, chunk)
  }

  /** An event that must be translated. */
  #onTranslatableEvent(event: StreamEvent): void {
    if (this.end !== null || !this.#translation) return
    for (const chunk of this.#translation.translate(event)) this.#onTranslated(chunk)
    if (this.#translation.isComplete && this.end === null) this.#complete()
  }

  #onTranslated(chunk: Chunk): void {
    if (this.end !== null) return
    if (this.#isPassthrough) this.meter.read(chunk)
    else this.#onChunk(chunk, null)
  }

  /** An event in the caller's own format: its translation is metered, and it is sent unchanged. */
  #onNativeEvent(event: SseEvent, translation: StreamTranslation): void {
    let facts = emptyFacts
    for (const chunk of translation.translate(event)) {
      const more = this.meter.read(chunk)
      if (this.#finishOnError(more)) return
      facts = more.hasContent || more.hasFinish ? more : facts
    }
    this.#encode(null, facts, this.#renaming?.rename(event) ?? event)
    if (translation.isComplete) this.#complete()
  }

  /** `event`: the original, if it is sent unchanged. */
  #onChunk(received: unknown, event: SseEvent | null): void {
    const chunk = renameModelIn(received, this.#returnedModel)
    const facts = this.meter.read(chunk)
    if (this.#finishOnError(facts)) return
    this.#encode(chunk, facts, event && (this.#renaming?.rename(event) ?? event))
  }

  #finishOnError({ error }: ChunkFacts): boolean {
    if (error === null) return false
    this.#finish(upstreamErrorFromBody(error, this.#credential))
    return true
  }

  #encode(chunk: unknown, facts: ChunkFacts, event: SseEvent | null): void {
    if (this.#maxTokens !== Infinity && this.#isPastMaximum()) return this.#cut(chunk, event)
    this.encodedTokens = this.meter.tokens
    this.#emit(this.encoder.encode(chunk, facts, event))
    this.#commitBy(facts)
  }

  #commitBy(facts: ChunkFacts): void {
    if (!this.hasContent && (facts.hasContent || facts.hasFinish)) {
      this.hasContent = true
      this.#listener.onContent()
    }
    if (!this.isCommitted && (this.hasContent || this.encoder.hasStarted === true)) {
      this.isCommitted = true
      this.#listener.onCommit()
    }
  }

  #isPastMaximum(): boolean {
    const counted = countForMaximum(this.meter, this.#call)
    if (counted <= this.#maxTokens) {
      this.#countedTokens = counted
      return false
    }
    if (!this.#hasExtra) {
      this.#hasExtra = true
      this.#maxTokens += this.#call.extraOutput?.() ?? 0
    }
    return counted > this.#maxTokens
  }

  /** Ends the response within the event that exceeds the maximum: the part of its text that does not is sent. */
  #cut(chunk: unknown, event: SseEvent | null): void {
    const json = chunk ?? (event && parseBoundedJson(event.text))
    const left = this.#maxTokens - this.#countedTokens
    const part = cutText(json, ({ tokensWithoutRuns }) => tokensWithoutRuns <= left)
    if (part) {
      this.encodedTokens += part.tokens
      this.#encodePart(part.event, event)
    }
    this.#commitBy(textFacts)
    this.meter.finishReason = 'length'
    this.#finish('cut')
  }

  /** `whole`: the event as it was received, if it passes through. */
  #encodePart(part: Json, whole: SseEvent | null): void {
    if (whole === null) return this.#emit(this.encoder.encode(part, textFacts, null))
    const bytes = encodeSseEvent(JSON.stringify(part), whole.name === '' ? undefined : whole.name)
    const parser = new SseParser(
      (event) => this.#emit(this.encoder.encode(part, textFacts, event)),
      bytes.length,
    )
    parser.push(bytes)
  }

  #emit(bytes: Buffer | null): void {
    const totalTokens = this.encodedTokens
    if (this.#sink) {
      this.#sink.onChunk(bytes, totalTokens)
      return
    }
    if (bytes === null) return
    this.#pendingBytes += bytes.length
    if (this.#pendingBytes > this.#maxPendingBytes) {
      this.#finish(
        upstreamError('garbage', 'The stream of the provider has too much data before its first content.'),
      )
      return
    }
    this.#pending.push({ bytes: Buffer.from(bytes), totalTokens })
  }

  #finish(end: StreamEnd): void {
    this.end = end
    this.#reportEnd()
  }

  #reportEnd(): void {
    if (!this.#sink || this.end === null) return
    if (this.end === 'complete') this.#sink.onComplete()
    else if (this.end === 'cut') this.#sink.onCut()
    else this.#sink.onError(this.end)
  }
}
