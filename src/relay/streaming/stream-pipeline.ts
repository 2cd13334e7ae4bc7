/**
 * The pipeline of a streaming response from upstream to caller: flow control decides how far money and durability
 * allow it to go, the stream writer sends it. When it has ended, the relay settles the hold, and only then the final
 * events are sent. A response that arrived faster than it was paid for ends once it is paid, or the money has run out.
 */
import type { ApiError } from '../../errors.ts'
import type { Usage } from '../../ledger/price.ts'
import type { Json } from '../../providers/json-fields.ts'
import { billFromStream } from '../bill.ts'
import { apiErrorForEnd, type EndReason } from '../end-reason.ts'
import { idempotentDrain } from '../idempotency.ts'
import type { StreamCause, StreamCut } from '../request/caller-format.ts'
import type { HoldGranted } from '../ledger-client.ts'
import type { DrainBounds, RelayContext, RelayDeps } from '../request-context.ts'
import type { Failover } from '../routing/failover.ts'
import type { UpstreamError } from '../routing/upstream-error.ts'
import { StreamWriter, type StreamWriterListener } from './stream-writer.ts'
import { FlowControl, type FlowControlListener } from './flow-control.ts'
import { placeholderCharge, ResponseCapture, withCharge } from './response-capture.ts'
import type { UsageMeter } from './usage-meter.ts'
import type { StreamSink, UpstreamStream } from './upstream-stream.ts'

/** The caller gets all that the response has, as far as the relay takes it. */
function isWhole({ kind }: EndReason): boolean {
  return kind === 'complete' || kind === 'cut'
}

function causeOf({ kind }: EndReason): StreamCause | null {
  if (kind === 'out-of-credit') return 'money'
  return kind === 'cut' ? 'maximum' : null
}

export class StreamPipeline implements StreamSink, FlowControlListener, StreamWriterListener {
  readonly #context: RelayContext
  readonly #failover: Failover
  readonly #drainBounds: DrainBounds
  /** For a response that is stored: it is read to its end even if the caller disconnects. */
  readonly #capture: ResponseCapture | null
  readonly #writer: StreamWriter
  readonly #flowControl: FlowControl
  readonly #endReason = Promise.withResolvers<EndReason>()
  #stream: UpstreamStream | null = null
  #drainTimer: NodeJS.Timeout | null = null
  #maxDrainTokens = Infinity
  /** Of a stored response: encoded before the settlement, and sent with the charge after it. */
  #finalEvents: readonly Buffer[] | null = null
  /** The billed output tokens of a response whose upstream has ended it before it was paid for. */
  #unpaidTokens: number | null = null
  /** The output tokens up to the event of which only a part is paid for; `null`: there is none. */
  #cutUpTo: number | null = null
  /** How the upstream ended the response; `null`: it did not. */
  receivedEnd: EndReason | null = null
  isEnded = false
  /** The caller disconnected before the end. */
  wasAborted = false

  constructor(deps: RelayDeps, context: RelayContext, hold: HoldGranted, failover: Failover) {
    this.#context = context
    this.#failover = failover
    this.#drainBounds = deps.drain
    this.#capture = context.claim && new ResponseCapture()
    this.#flowControl = new FlowControl(deps.ledger, context, hold, this)
    this.#writer = new StreamWriter(deps, context, this)
    this.#writer.setLimit(this.#flowControl.limit)
    if (context.response.isDisconnected) this.onDisconnect()
  }

  /** Resolves with the reason when the stream has ended. */
  get ended(): Promise<EndReason> {
    return this.#endReason.promise
  }

  /** Drops what is not paid for, and keeps the part of an event that is. Returns the output tokens that were sent, or will be, or that are stored. */
  cutAtPaid(): number {
    const { paidTokens } = this
    const sent = this.#writer.cutAfter(paidTokens)
    const cut = this.#capture?.cutAfter(paidTokens) ?? sent
    this.#cutUpTo = cut?.upTo ?? null
    return cut?.delivered ?? this.#writer.lastTokens ?? this.#writer.sentTokens
  }

  /** Web searches and calls of tools that were seen and are paid for. */
  get paidCalls(): Pick<UsageMeter, 'searches' | 'toolCalls'> {
    const { heldCalls } = this.#flowControl
    const { searches = 0, toolCalls = [] } = this.#stream?.meter ?? {}
    return { searches: Math.min(searches, heldCalls), toolCalls: toolCalls.slice(0, heldCalls) }
  }

  /** The items of a complete response, to which a later request may refer. */
  get outputItems(): readonly Json[] {
    return this.#stream?.encoder.outputItems?.() ?? []
  }

  /** Output tokens, by the relay's count, up to which events are paid for. */
  get paidTokens(): number {
    const { paidTokens } = this.#flowControl
    const unpaid = this.#unpaidTokens
    if (unpaid === null) return paidTokens
    // The provider may count other tokens than the relay: the same share of both is paid.
    return unpaid <= paidTokens ? Infinity : Math.floor((paidTokens * this.#receivedTokens) / unpaid)
  }

  /** The output tokens of all events of which something is paid for. */
  get #paidUpTo(): number {
    return this.#cutUpTo ?? this.paidTokens
  }

  /** What was received and encoded; of a stream that is cut, less than what its upstream has written. */
  get #receivedTokens(): number {
    return this.#stream?.encodedTokens ?? 0
  }

  /** What a caller of a stream that the relay has cut is charged. */
  get deliveredTokens(): number {
    return this.#receivedTokens
  }

  /** The web searches received so far, or the calls of the provider's tools, if those have a price. */
  get #receivedCalls(): number {
    const { searches = 0, toolCalls = [] } = this.#stream?.meter ?? {}
    return this.#flowControl.holdsTools ? toolCalls.length : searches
  }

  /** The caller has disconnected, and the response is read only to be stored. */
  get #isOnlyStored(): boolean {
    return this.wasAborted && this.#capture !== null
  }

  /** Takes over the committed stream of the running attempt. */
  attach(stream: UpstreamStream): void {
    this.#stream = stream
    stream.attach(this)
  }

  onChunk(bytes: Buffer | null, totalTokens: number): void {
    if (this.isEnded) return
    if (totalTokens > this.#maxDrainTokens) this.end({ kind: 'disconnected' })
    if (bytes !== null) {
      this.#capture?.add(bytes, totalTokens)
      this.#writer.push(bytes, totalTokens)
    }
    this.#flowControl.receive(totalTokens, this.#receivedCalls)
  }

  onComplete(): void {
    this.#onReceived({ kind: 'complete' })
  }

  onCut(): void {
    this.#onReceived({ kind: 'cut' })
  }

  onError(error: UpstreamError): void {
    this.#onReceived({ kind: 'upstream-error', error })
  }

  /** The upstream has ended the response: what is not sent yet must be paid for. */
  #onReceived(end: EndReason): void {
    if (this.isEnded) return
    this.receivedEnd = end
    const stream = this.#stream
    const { paidTokens } = this.#flowControl
    const unsent = this.#isOnlyStored ? this.#receivedTokens : this.#writer.lastTokens
    const billed = end.kind === 'cut' ? 0 : (stream?.meter.usage?.output ?? 0)
    if (!stream || unsent === null || Math.max(unsent, billed) <= paidTokens) {
      this.end(end)
      return
    }
    this.#unpaidTokens = this.#tokensToPay(end, stream.meter)
    this.#flowControl.receive(this.#unpaidTokens, this.#receivedCalls)
    this.#endOncePaid(end)
  }

  /** What must be paid for before all is sent: what is charged, and what an upstream wrote beyond the maximum. */
  #tokensToPay(end: EndReason, meter: UsageMeter): number {
    if (end.kind === 'cut') return this.#receivedTokens
    const { usage, bound = usage, cause, images } = billFromStream(end, meter, this.#failover)
    const written = cause === 'provider' ? Math.min(usage.output, meter.tokens) : meter.tokens
    // The tokens of images are held by the call.
    return Math.max(bound.output - (images?.tokens?.output ?? 0), written)
  }

  #endOncePaid(end: EndReason): void {
    const unsent = this.#isOnlyStored ? this.#receivedTokens : (this.#writer.lastTokens ?? -1)
    if (unsent <= this.paidTokens) this.end(end)
    else if (this.#flowControl.isExhausted) this.end(isWhole(end) ? { kind: 'out-of-credit' } : end)
  }

  /** Ends the stream. Only the first reason counts. */
  end(endReason: EndReason): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#flowControl.stop()
    if (this.#drainTimer) clearTimeout(this.#drainTimer)
    if (endReason.kind !== 'complete') this.#failover.cancel()
    this.#endReason.resolve(endReason)
  }

  onStoreFailed(): void {
    this.end({ kind: 'store-unavailable' })
  }

  onLimitChange(): void {
    if (this.isEnded) return
    this.#writer.setLimit(Math.min(this.#flowControl.limit, this.paidTokens))
    if (this.receivedEnd) return this.#endOncePaid(this.receivedEnd)
    if (this.#flowControl.isCallDenied) return this.end({ kind: 'out-of-credit' })
    // For a disconnected caller nothing is buffered, but a stored response is paid for all the same.
    const next = this.#isOnlyStored ? this.#receivedTokens : this.#writer.nextTokens
    if (this.#flowControl.isExhausted && next !== null && next > this.#flowControl.paidTokens)
      this.end({ kind: 'out-of-credit' })
  }

  onFull(): void {
    this.#failover.attempt?.pause?.()
  }

  onWritable(): void {
    this.#failover.attempt?.resume?.()
  }

  onDisconnect(): void {
    this.wasAborted = true
    if (this.isEnded) return
    if (!this.#capture && !(this.#stream && this.#failover.drainsOnAbort)) {
      this.end({ kind: 'disconnected' })
      return
    }
    const drain = this.#capture ? idempotentDrain : this.#drainBounds
    this.#maxDrainTokens = this.#receivedTokens + drain.tokens
    this.#drainTimer = setTimeout(() => this.end({ kind: 'disconnected' }), drain.ms)
  }

  /** A stored response has no such events, so its numbers could not be repeated. */
  idleEvent(): Buffer | null {
    return this.#capture ? null : (this.#stream?.encoder.idleEvent?.() ?? null)
  }

  /**
   * Ends a stream without content with an error. False: nothing was sent at all, so the error can be a normal response.
   */
  fail(error: ApiError): boolean {
    this.isEnded = true
    this.#flowControl.stop()
    const { isStarted } = this.#context.response
    const cut = { sentTokens: this.#writer.sentTokens, usage: null }
    if (isStarted) this.#writer.end([this.#errorEvent(error, cut)])
    else this.#writer.stop()
    return isStarted
  }

  /** The response to store, with its final events but without the charge; null if it is too large. */
  captureResponse(endReason: EndReason, usage: Usage | null): Uint8Array | null {
    this.#finalEvents = this.#finalEventsFor(endReason, placeholderCharge, usage)
    const tokens = isWhole(endReason) ? Infinity : this.paidTokens
    return this.#capture?.finish(tokens, this.#finalEvents, this.#context.headers) ?? null
  }

  /** Sends what is buffered and paid for of a settled response. `null`: all was sent; else resolves when it is. */
  drain(end: EndReason): Promise<void> | null {
    const { kind } = end
    if (!isWhole(end)) this.#writer.dropAfter(kind === 'store-unavailable' ? -1 : this.paidTokens)
    return this.#writer.drain()
  }

  /** Sends the final events of a settled response. */
  finish(endReason: EndReason, charge: bigint, usage: Usage | null): void {
    const finalEvents = this.#finalEvents
    this.#writer.end(
      finalEvents ? [withCharge(finalEvents, charge)] : this.#finalEventsFor(endReason, charge, usage),
    )
  }

  /** For an incomplete response: an error event, and nothing that marks it as complete. `usage` null: nothing is billed. */
  #finalEventsFor(endReason: EndReason, charge: bigint, usage: Usage | null): Buffer[] {
    const isEnded = isWhole(endReason) || endReason.kind === 'out-of-credit'
    if (usage === null || !isEnded) {
      const sentTokens = endReason.kind === 'store-unavailable' ? this.#writer.sentTokens : this.#paidUpTo
      return [this.#errorEvent(apiErrorForEnd(endReason), { sentTokens, usage })]
    }
    return (
      this.#stream?.encoder.finalEvents({
        cutBy: causeOf(endReason),
        paidTokens: this.#paidUpTo,
        loweredMaximum: this.#failover.loweredMaximum,
        charge,
        usage,
      }) ?? []
    )
  }

  #errorEvent(error: ApiError, cut: StreamCut): Buffer {
    const { request, id } = this.#context
    return this.#stream?.encoder.errorEvents?.(error, cut) ?? request.format.errorEvent(error, id)
  }
}
