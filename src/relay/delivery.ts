/**
 * A streamed answer on its way from upstream to caller: at the pace that money and durability allow, through the
 * caller's outlet. It ends in one of a few ways, is then settled by the relay, and only after that says its last word.
 */
import { decimalOf } from '../lib/money.ts'
import { encodeEvent } from '../lib/sse.ts'
import type { Refusal } from '../errors.ts'
import type { Attempt } from './attempt.ts'
import type { Bookkeeper } from './bookkeeper.ts'
import type { CallerExchange } from './exchange.ts'
import type { Fault } from './fault.ts'
import type { ChunkFacts, Meter } from './meter.ts'
import { Outlet, type OutletTerms } from './outlet.ts'
import { Pace, type PaceTerms } from './pace.ts'
import type { StreamSink } from './upstream-stream.ts'

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

export interface DeliveryTerms extends PaceTerms, OutletTerms {
  readonly includeUsage: boolean
}

/** Reading on for the bill after the caller has left. */
export interface DrainBounds {
  readonly tokens: number
  readonly ms: number
}

const done = Buffer.from('data: [DONE]\n\n')

export class Delivery implements StreamSink {
  readonly #terms: DeliveryTerms
  readonly #outlet: Outlet
  readonly #pace: Pace
  readonly #ending = Promise.withResolvers<Ending>()
  #attempt: Attempt | null = null
  #meter: Meter | null = null
  #drain: DrainBounds | null = null
  #drainTimer: NodeJS.Timeout | null = null
  #drainUpTo = Infinity
  /** The usage event that waits for the bill. */
  #tail: Buffer | null = null
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
  attach(attempt: Attempt, meter: Meter, drain: DrainBounds | null): void {
    this.#attempt = attempt
    this.#meter = meter
    this.#drain = drain
    attempt.attach(this)
  }

  onChunk(bytes: Buffer, facts: ChunkFacts): void {
    if (this.#isEnded) return
    const upTo = this.#meter?.tokens ?? 0
    if (upTo > this.#drainUpTo) this.end({ kind: 'gone' })
    if (facts.hasUsage && facts.isBare && !this.#terms.includeUsage) return
    if (this.#tail) {
      // A usage event that turns out not to be the last goes out as it came.
      this.#outlet.put(this.#tail, upTo)
      this.#tail = null
    }
    if (facts.hasUsage && this.#terms.includeUsage && (facts.isBare || facts.hasFinish)) {
      this.#tail = Buffer.from(bytes)
    } else {
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
    this.#drainUpTo = (this.#meter?.tokens ?? 0) + this.#drain.tokens
    this.#drainTimer = setTimeout(() => this.end({ kind: 'gone' }), this.#drain.ms)
  }

  /** Ends a delivery that has sent no content. False: nothing was sent at all, the refusal can be a whole answer. */
  refuse(refusal: Refusal): boolean {
    this.#isEnded = true
    this.#pace.stop()
    if (this.#outlet.isBegun) this.#outlet.end([errorEvent(refusal)])
    else this.#outlet.stop()
    return this.#outlet.isBegun
  }

  /** The last words of a settled answer: what still waits, the usage with its cost, and `[DONE]`. */
  async conclude(ending: Ending, charge: bigint, usage: Readonly<Record<string, unknown>>): Promise<void> {
    if (ending.kind === 'money') this.#outlet.dropBeyond(this.#pace.paid)
    await this.#outlet.drained()
    const last = ending.kind === 'money' ? [this.#shortEnd()] : []
    const tail =
      ending.kind === 'complete' ? (this.#tail ?? this.#estimateTail(usage)) : this.#usageEvent(usage)
    if (tail && this.#terms.includeUsage) last.push(withCost(tail, charge))
    this.#outlet.end([...last, done])
  }

  /** As `conclude`, for an answer that broke off: an error event, and no `[DONE]`. */
  async concludeBroken(refusal: Refusal, ending: Ending): Promise<void> {
    if (ending.kind === 'store') this.#outlet.dropBeyond(-1)
    await this.#outlet.drained()
    this.#outlet.end([errorEvent(refusal)])
  }

  /** Where the money ends, the answer ends as one that reached its maximum, and says why. */
  #shortEnd(): Buffer {
    const choices = [{ index: 0, delta: {}, finish_reason: 'length' }]
    return this.#event({ choices, sluice: { ended: 'insufficient_quota' } })
  }

  /** What is billed instead, where the provider has told no usage. */
  #estimateTail(usage: Readonly<Record<string, unknown>>): Buffer | null {
    return this.#meter?.usage ? null : this.#usageEvent(usage)
  }

  #usageEvent(usage: Readonly<Record<string, unknown>>): Buffer {
    return this.#event({ choices: [], usage })
  }

  /** A chunk of ours within the provider's stream. */
  #event(fields: Readonly<Record<string, unknown>>): Buffer {
    const chunk = { object: 'chat.completion.chunk', ...this.#meter?.identity, ...fields }
    return encodeEvent(JSON.stringify(chunk))
  }
}

function errorEvent(refusal: Refusal): Buffer {
  return encodeEvent(JSON.stringify(refusal.toBody()))
}

/** A usage event with `usage.cost`, exact, in place of any cost of the provider's. */
function withCost(event: Buffer, charge: bigint): Buffer {
  const chunk = JSON.parse(event.toString('utf8', 'data: '.length)) as { usage: Record<string, unknown> }
  const usage = { ...chunk.usage, cost: JSON.rawJSON(decimalOf(charge)) }
  return encodeEvent(JSON.stringify({ ...chunk, usage }))
}
