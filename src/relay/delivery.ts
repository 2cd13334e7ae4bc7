/**
 * A streamed answer on its way from upstream to caller: at the pace that money and durability allow, through the
 * caller's outlet. It ends in one of a few ways, is then settled by the relay, and only after that says its last word.
 */
import type { Refusal } from '../errors.ts'
import type { Usage } from '../ledger/price.ts'
import type { Attempt } from './routing/attempt.ts'
import type { Bookkeeper } from './ledger-client.ts'
import { refusalOfEnding, type Ending } from './end-reason.ts'
import type { CallerExchange } from './exchange.ts'
import type { Fault } from './routing/upstream-error.ts'
import { Outlet, type OutletTerms } from './outlet.ts'
import { Pace, type PaceTerms } from './pace.ts'
import { unknownCharge, withCharge, type Recording } from './recording.ts'
import type { StreamSink, UpstreamStream } from './streaming/upstream-stream.ts'

export interface DeliveryTerms extends PaceTerms, OutletTerms {
  /** Of an answer that is kept: whether its caller stays or leaves, it is read to its end. */
  readonly kept: { readonly recording: Recording; readonly drain: DrainBounds } | null
}

/** Reading on for the bill after the caller has left. */
export interface DrainBounds {
  readonly tokens: number
  readonly ms: number
}

export class Delivery implements StreamSink {
  readonly #terms: DeliveryTerms
  readonly #outlet: Outlet
  readonly #pace: Pace
  readonly #ending = Promise.withResolvers<Ending>()
  #attempt: Attempt | null = null
  #stream: UpstreamStream | null = null
  #drain: DrainBounds | null = null
  #drainTimer: NodeJS.Timeout | null = null
  #drainUpTo = Infinity
  /** Said once, where they are kept: before the bill, and told with its price after it. */
  #lastWords: readonly Buffer[] | null = null
  #isEnded = false
  /** The caller left before the end. */
  wasLeft = false

  constructor(
    exchange: CallerExchange,
    bookkeeper: Bookkeeper,
    hold: { readonly commit: number; readonly outputTokens: number },
    terms: DeliveryTerms,
  ) {
    this.#terms = terms
    this.#pace = new Pace(bookkeeper, hold, terms, {
      onPace: () => this.#onPace(),
      onStoreFailed: () => this.end({ kind: 'store' }),
    })
    this.#outlet = new Outlet(exchange, terms, {
      onFull: () => this.#attempt?.pause(),
      onEmptier: () => this.#attempt?.resume(),
      onGone: () => this.#onGone(),
    })
    this.#outlet.allow(this.#pace.limit)
    if (exchange.isGone) this.#onGone()
  }

  /** How the answer ended; told once. */
  get ended(): Promise<Ending> {
    return this.#ending.promise
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Output tokens that went out, or will for whoever asks for what is kept. */
  get delivered(): number {
    return this.#terms.kept?.recording.within(this.#pace.paid) ?? this.#outlet.delivered
  }

  /** Takes over a committed answer. `drain`: read on for the bill, within bounds, when the caller leaves. */
  attach(attempt: Attempt, stream: UpstreamStream, drain: DrainBounds | null): void {
    this.#attempt = attempt
    this.#stream = stream
    this.#drain = drain
    attempt.attach(this)
  }

  onChunk(bytes: Buffer | null, upTo: number): void {
    if (this.#isEnded) return
    if (upTo > this.#drainUpTo) this.end({ kind: 'gone' })
    if (bytes !== null) {
      this.#terms.kept?.recording.add(bytes, upTo)
      this.#outlet.put(bytes, upTo)
    }
    this.#pace.receive(upTo)
  }

  onComplete(): void {
    this.end({ kind: 'complete' })
  }

  onBroken(found: Fault): void {
    this.end({ kind: 'broken', fault: found })
  }

  /** Ends the delivery; the first ending counts. */
  end(ending: Ending): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#pace.stop()
    if (this.#drainTimer) clearTimeout(this.#drainTimer)
    if (ending.kind !== 'complete') this.#attempt?.destroy()
    this.#ending.resolve(ending)
  }

  #onPace(): void {
    if (this.#isEnded) return
    this.#outlet.allow(this.#pace.limit)
    // For a caller who has left nothing waits; what is kept for later is paid for all the same.
    const isForLater = this.wasLeft && this.#terms.kept !== null
    const next = isForLater ? (this.#stream?.meter.tokens ?? 0) : this.#outlet.next
    if (this.#pace.isExhausted && next !== null && next > this.#pace.paid) this.end({ kind: 'money' })
  }

  #onGone(): void {
    this.wasLeft = true
    if (this.#isEnded) return
    const drain = this.#terms.kept?.drain ?? (this.#attempt ? this.#drain : null)
    if (!drain) {
      this.end({ kind: 'gone' })
      return
    }
    this.#drainUpTo = (this.#stream?.meter.tokens ?? 0) + drain.tokens
    this.#drainTimer = setTimeout(() => this.end({ kind: 'gone' }), drain.ms)
  }

  /** Ends a delivery that has sent no content. False: nothing was sent at all, the refusal can be a whole answer. */
  refuse(refusal: Refusal): boolean {
    this.#isEnded = true
    this.#pace.stop()
    if (this.#outlet.isBegun) this.#outlet.end([this.#errorEvent(refusal)])
    else this.#outlet.stop()
    return this.#outlet.isBegun
  }

  /** The answer to keep, with its last words but for the price; null when it is too large. */
  recorded(ending: Ending, usage: Usage): Uint8Array | null {
    this.#lastWords = this.#wordsOf(ending, unknownCharge, usage)
    const tokens = ending.kind === 'money' ? this.#pace.paid : Infinity
    const { kept, headers } = this.#terms
    return kept?.recording.end(tokens, this.#lastWords, headers) ?? null
  }

  /** What still waits, and the last words of a settled answer. */
  async conclude(ending: Ending, charge: bigint, usage: Usage): Promise<void> {
    if (ending.kind === 'money') this.#outlet.dropBeyond(this.#pace.paid)
    if (ending.kind === 'store') this.#outlet.dropBeyond(-1)
    await this.#outlet.drained()
    const words = this.#lastWords
    this.#outlet.end(words ? [withCharge(words, charge)] : this.#wordsOf(ending, charge, usage))
  }

  /** Of an answer that broke off: an error event, and no word that it is complete. */
  #wordsOf(ending: Ending, charge: bigint, usage: Usage): Buffer[] {
    const isShort = ending.kind === 'money'
    if (ending.kind !== 'complete' && !isShort) return [this.#errorEvent(refusalOfEnding(ending))]
    return this.#stream?.words.conclude({ isShort, paid: this.#pace.paid, charge, usage }) ?? []
  }

  #errorEvent(refusal: Refusal): Buffer {
    return this.#terms.format.errorEvent(refusal, this.#terms.id)
  }
}
