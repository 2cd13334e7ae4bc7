/**
 * A streamed answer on its way from upstream to caller: at the pace that money and durability allow, through the
 * caller's outlet. It ends in one of a few ways, is then settled by the relay, and only after that says its last word.
 */
import type { Refusal } from '../errors.ts'
import type { Usage } from '../ledger/price.ts'
import type { Attempt } from './attempt.ts'
import type { Bookkeeper } from './bookkeeper.ts'
import type { CallerExchange } from './exchange.ts'
import type { Fault } from './fault.ts'
import { Outlet, type OutletTerms } from './outlet.ts'
import { Pace, type PaceTerms } from './pace.ts'
import type { StreamSink, UpstreamStream } from './upstream-stream.ts'

export type Ending =
  | { readonly kind: 'complete' }
  | { readonly kind: 'broken'; readonly fault: Fault }
  | { readonly kind: 'gone' }
  /** Nothing more can be paid. */
  | { readonly kind: 'money' }
  /** The store does not take commits. */
  | { readonly kind: 'store' }
  /** The relay is shut down and its grace is over. */
  | { readonly kind: 'shutdown' }

export type DeliveryTerms = PaceTerms & OutletTerms

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

  /** Output tokens that went out. */
  get delivered(): number {
    return this.#outlet.delivered
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
    if (bytes !== null) this.#outlet.put(bytes, upTo)
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
    const next = this.#outlet.next
    if (this.#pace.isExhausted && next !== null && next > this.#pace.paid) this.end({ kind: 'money' })
  }

  #onGone(): void {
    this.wasLeft = true
    if (this.#isEnded) return
    if (!this.#drain || !this.#attempt) {
      this.end({ kind: 'gone' })
      return
    }
    this.#drainUpTo = (this.#stream?.meter.tokens ?? 0) + this.#drain.tokens
    this.#drainTimer = setTimeout(() => this.end({ kind: 'gone' }), this.#drain.ms)
  }

  /** Ends a delivery that has sent no content. False: nothing was sent at all, the refusal can be a whole answer. */
  refuse(refusal: Refusal): boolean {
    this.#isEnded = true
    this.#pace.stop()
    if (this.#outlet.isBegun) this.#outlet.end([this.#errorEvent(refusal)])
    else this.#outlet.stop()
    return this.#outlet.isBegun
  }

  /** What still waits, and the last words of a settled answer. */
  async conclude(ending: Ending, charge: bigint, usage: Usage): Promise<void> {
    const { paid } = this.#pace
    const isShort = ending.kind === 'money'
    if (isShort) this.#outlet.dropBeyond(paid)
    await this.#outlet.drained()
    this.#outlet.end(this.#stream?.words.conclude({ isShort, paid, charge, usage }) ?? [])
  }

  /** As `conclude`, for an answer that broke off: an error event, and no word that it is complete. */
  async concludeBroken(refusal: Refusal, ending: Ending): Promise<void> {
    if (ending.kind === 'store') this.#outlet.dropBeyond(-1)
    await this.#outlet.drained()
    this.#outlet.end([this.#errorEvent(refusal)])
  }

  #errorEvent(refusal: Refusal): Buffer {
    return this.#terms.format.errorEvent(refusal, this.#terms.id)
  }
}
