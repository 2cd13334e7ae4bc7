/**
 * The pipeline of a streaming response from upstream to caller: flow control decides how far money and durability
 * allow it to go, the stream writer sends it. When it has ended, the relay settles the hold, and only then the final
 * events are sent.
 */
import type { ApiError } from '../../errors.ts'
import type { Usage } from '../../ledger/price.ts'
import type { UpstreamAttempt } from '../routing/attempt.ts'
import type { LedgerClient } from '../ledger-client.ts'
import { apiErrorForEnd, type EndReason } from '../end-reason.ts'
import type { ResponseWriter } from '../response-writer.ts'
import type { UpstreamError } from '../routing/upstream-error.ts'
import { StreamWriter, type StreamWriterOptions } from './stream-writer.ts'
import { FlowControl, type FlowControlOptions } from './flow-control.ts'
import { placeholderCharge, withCharge, type ResponseCapture } from './response-capture.ts'
import type { StreamSink, UpstreamStream } from './upstream-stream.ts'

export interface StreamPipelineOptions extends FlowControlOptions, StreamWriterOptions {
  /** For a response that is stored: it is read to its end even if the caller disconnects. */
  readonly capture: { readonly response: ResponseCapture; readonly drain: DrainBounds } | null
}

/** Bounds of reading on for the bill after the caller has disconnected. */
export interface DrainBounds {
  readonly tokens: number
  readonly ms: number
}

export class StreamPipeline implements StreamSink {
  readonly #options: StreamPipelineOptions
  readonly #writer: StreamWriter
  readonly #flowControl: FlowControl
  readonly #endReason = Promise.withResolvers<EndReason>()
  #attempt: UpstreamAttempt | null = null
  #stream: UpstreamStream | null = null
  #drain: DrainBounds | null = null
  #drainTimer: NodeJS.Timeout | null = null
  #maxDrainTokens = Infinity
  /** Of a stored response: encoded before the settlement, and sent with the charge after it. */
  #finalEvents: readonly Buffer[] | null = null
  #isEnded = false
  /** The caller disconnected before the end. */
  wasAborted = false

  constructor(
    responseWriter: ResponseWriter,
    ledger: LedgerClient,
    hold: { readonly commit: number; readonly outputTokens: number },
    options: StreamPipelineOptions,
  ) {
    this.#options = options
    this.#flowControl = new FlowControl(ledger, hold, options, {
      onLimitChange: () => this.#onLimitChange(),
      onStoreFailed: () => this.end({ kind: 'store-unavailable' }),
    })
    this.#writer = new StreamWriter(responseWriter, options, {
      onFull: () => this.#attempt?.pause(),
      onWritable: () => this.#attempt?.resume(),
      onDisconnect: () => this.#onDisconnect(),
    })
    this.#writer.setLimit(this.#flowControl.limit)
    if (responseWriter.isDisconnected) this.#onDisconnect()
  }

  /** Resolves with the reason when the stream has ended. */
  get ended(): Promise<EndReason> {
    return this.#endReason.promise
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Output tokens that were sent, or that a stored response will send. */
  get deliveredTokens(): number {
    return (
      this.#options.capture?.response.tokensPaidBy(this.#flowControl.paidTokens) ?? this.#writer.sentTokens
    )
  }

  /** Takes over a committed stream. `drain`: bounds of reading on for the bill if the caller disconnects. */
  attach(attempt: UpstreamAttempt, stream: UpstreamStream, drain: DrainBounds | null): void {
    this.#attempt = attempt
    this.#stream = stream
    this.#drain = drain
    attempt.attach(this)
  }

  onChunk(bytes: Buffer | null, totalTokens: number): void {
    if (this.#isEnded) return
    if (totalTokens > this.#maxDrainTokens) this.end({ kind: 'disconnected' })
    if (bytes !== null) {
      this.#options.capture?.response.add(bytes, totalTokens)
      this.#writer.push(bytes, totalTokens)
    }
    this.#flowControl.receive(totalTokens)
  }

  onComplete(): void {
    this.end({ kind: 'complete' })
  }

  onError(error: UpstreamError): void {
    this.end({ kind: 'upstream-error', error })
  }

  /** Ends the stream. Only the first reason counts. */
  end(endReason: EndReason): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#flowControl.stop()
    if (this.#drainTimer) clearTimeout(this.#drainTimer)
    if (endReason.kind !== 'complete') this.#attempt?.destroy()
    this.#endReason.resolve(endReason)
  }

  #onLimitChange(): void {
    if (this.#isEnded) return
    this.#writer.setLimit(this.#flowControl.limit)
    // For a disconnected caller nothing is buffered, but a stored response is paid for all the same.
    const isOnlyStored = this.wasAborted && this.#options.capture !== null
    const next = isOnlyStored ? (this.#stream?.meter.tokens ?? 0) : this.#writer.nextTokens
    if (this.#flowControl.isExhausted && next !== null && next > this.#flowControl.paidTokens)
      this.end({ kind: 'out-of-credit' })
  }

  #onDisconnect(): void {
    this.wasAborted = true
    if (this.#isEnded) return
    const drain = this.#options.capture?.drain ?? (this.#attempt ? this.#drain : null)
    if (!drain) {
      this.end({ kind: 'disconnected' })
      return
    }
    this.#maxDrainTokens = (this.#stream?.meter.tokens ?? 0) + drain.tokens
    this.#drainTimer = setTimeout(() => this.end({ kind: 'disconnected' }), drain.ms)
  }

  /**
   * Ends a stream without content with an error. False: nothing was sent at all, so the error can be a normal response.
   */
  fail(error: ApiError): boolean {
    this.#isEnded = true
    this.#flowControl.stop()
    if (this.#writer.isStarted) this.#writer.end([this.#errorEvent(error)])
    else this.#writer.stop()
    return this.#writer.isStarted
  }

  /** The response to store, with its final events but without the charge; null if it is too large. */
  captureResponse(endReason: EndReason, usage: Usage): Uint8Array | null {
    this.#finalEvents = this.#finalEventsFor(endReason, placeholderCharge, usage)
    const tokens = endReason.kind === 'out-of-credit' ? this.#flowControl.paidTokens : Infinity
    const { capture, headers } = this.#options
    return capture?.response.finish(tokens, this.#finalEvents, headers) ?? null
  }

  /** Sends what is still buffered, and the final events of a settled response. */
  async finish(endReason: EndReason, charge: bigint, usage: Usage): Promise<void> {
    if (endReason.kind === 'out-of-credit') this.#writer.dropAfter(this.#flowControl.paidTokens)
    if (endReason.kind === 'store-unavailable') this.#writer.dropAfter(-1)
    await this.#writer.drain()
    const finalEvents = this.#finalEvents
    this.#writer.end(
      finalEvents ? [withCharge(finalEvents, charge)] : this.#finalEventsFor(endReason, charge, usage),
    )
  }

  /** For an incomplete response: an error event, and nothing that marks it as complete. */
  #finalEventsFor(endReason: EndReason, charge: bigint, usage: Usage): Buffer[] {
    const isOutOfCredit = endReason.kind === 'out-of-credit'
    if (endReason.kind !== 'complete' && !isOutOfCredit) return [this.#errorEvent(apiErrorForEnd(endReason))]
    return (
      this.#stream?.encoder.finalEvents({
        isOutOfCredit,
        paidTokens: this.#flowControl.paidTokens,
        charge,
        usage,
      }) ?? []
    )
  }

  #errorEvent(error: ApiError): Buffer {
    return this.#options.format.errorEvent(error, this.#options.id)
  }
}
