/**
 * The way out to one caller of a stream: a queue for what may not go out yet, back-pressure when the caller is slow,
 * signs of life while there is nothing to say.
 */
import { Backlog } from './streaming/event-buffer.ts'
import type { CallerFormat } from './caller-format.ts'
import type { CallerExchange } from './exchange.ts'

/** What may wait here before the upstream is made to wait. */
const mostWaitingBytes = 16_384

export const streamHeaders = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-cache',
  'x-accel-buffering',
  'no',
]

export interface OutletTerms {
  readonly headers: readonly string[]
  readonly keepAliveMs: number
  readonly format: CallerFormat
  /** A caller who takes nothing for so long is cut off. */
  readonly slowClientMs: number
}

export interface OutletListener {
  /** Too much waits: the upstream has to. */
  onFull(): void
  onEmptier(): void
  onGone(): void
}

export class Outlet {
  readonly #exchange: CallerExchange
  readonly #terms: OutletTerms
  readonly #listener: OutletListener
  readonly #keepAlive: NodeJS.Timeout
  #slow: NodeJS.Timeout | null = null
  readonly #backlog = new Backlog()
  #isBlocked = false
  #isFull = false
  #limit = -1
  #onEmpty: (() => void) | null = null
  /** Output tokens that went out. */
  delivered = 0

  constructor(exchange: CallerExchange, terms: OutletTerms, listener: OutletListener) {
    this.#exchange = exchange
    this.#terms = terms
    this.#listener = listener
    this.#keepAlive = setTimeout(() => this.#stayAlive(), terms.keepAliveMs)
    // Made first and then assigned: docs/decisions/0026-requests-die-young.md.
    const onDrain = (): void => this.#onDrain()
    const onGone = (): void => this.#onGone()
    exchange.onDrain = onDrain
    exchange.onGone = onGone
  }

  get isGone(): boolean {
    return this.#exchange.isGone
  }

  get isBegun(): boolean {
    return this.#exchange.isBegun
  }

  /** The tokens of the first event that waits; `null` when none does. */
  get next(): number | null {
    return this.#backlog.next
  }

  /** An event: out at once when it may, else it waits. The bytes are valid only during the call. */
  put(bytes: Buffer, upTo: number): void {
    if (this.#exchange.isGone) return
    if (this.#backlog.isEmpty && !this.#isBlocked && upTo <= this.#limit) {
      this.delivered = upTo
      this.#write(bytes)
      return
    }
    this.#backlog.add(bytes, upTo)
    if (this.#backlog.bytes > mostWaitingBytes) this.#fill()
  }

  /** Events up to this many tokens may go out. */
  allow(limit: number): void {
    this.#limit = limit
    this.#flush()
  }

  /** Drops what waits beyond this many tokens. */
  dropBeyond(tokens: number): void {
    this.#backlog.dropBeyond(tokens)
  }

  /** Resolves when everything that waits is out, or the caller gone. */
  async drained(): Promise<void> {
    this.allow(Infinity)
    if (this.#backlog.isEmpty || this.#exchange.isGone) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onEmpty = resolve
    await promise
  }

  /** The last bytes of the answer. */
  end(last: readonly Buffer[]): void {
    this.stop()
    if (this.#exchange.isGone) return
    if (!this.#exchange.isBegun) this.#begin()
    for (const bytes of last) this.#exchange.write(bytes)
    this.#exchange.end()
  }

  /** No more signs of life, and nobody is told anything any more. */
  stop(): void {
    clearTimeout(this.#keepAlive)
    this.#calm()
    this.#exchange.onDrain = null
    this.#exchange.onGone = null
  }

  #begin(): void {
    this.#exchange.begin(200, [...streamHeaders, ...this.#terms.headers])
  }

  #write(bytes: Buffer): void {
    if (!this.#exchange.isBegun) this.#begin()
    this.#keepAlive.refresh()
    if (this.#exchange.write(bytes)) return
    this.#isBlocked = true
    this.#slow ??= setTimeout(() => this.#exchange.destroy(), this.#terms.slowClientMs)
    this.#fill()
  }

  #flush(): void {
    const backlog = this.#backlog
    while (!this.#isBlocked && !this.#exchange.isGone) {
      const { next } = backlog
      if (next === null || next > this.#limit) break
      this.delivered = next
      this.#write(backlog.shift())
    }
    if (this.#isFull && !this.#isBlocked && backlog.bytes <= mostWaitingBytes) {
      this.#isFull = false
      this.#listener.onEmptier()
    }
    if (backlog.isEmpty && !this.#isBlocked) this.#onEmpty?.()
  }

  #fill(): void {
    if (this.#isFull) return
    this.#isFull = true
    this.#listener.onFull()
  }

  #calm(): void {
    if (this.#slow) clearTimeout(this.#slow)
    this.#slow = null
  }

  #onDrain(): void {
    this.#isBlocked = false
    this.#calm()
    this.#flush()
  }

  #onGone(): void {
    this.#backlog.clear()
    this.#calm()
    clearTimeout(this.#keepAlive)
    this.#onEmpty?.()
    if (this.#isFull) {
      this.#isFull = false
      this.#isBlocked = false
      this.#listener.onEmptier()
    }
    this.#listener.onGone()
  }

  #stayAlive(): void {
    if (this.#exchange.isGone) return
    if (!this.#exchange.isBegun) this.#begin()
    if (!this.#isBlocked) this.#exchange.write(this.#terms.format.keepAlive)
    this.#keepAlive.refresh()
  }
}
