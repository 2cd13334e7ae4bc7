/**
 * Writes a stream to its caller: buffers events that may not be sent yet, applies back-pressure to the upstream if the
 * caller is slow, and sends keep-alive events while there is nothing to send.
 */
import type { CutPosition } from './cut-text.ts'
import { EventBuffer } from './event-buffer.ts'
import type { RelayContext, RelayDeps } from '../request-context.ts'
import type { ResponseWriter } from '../response-writer.ts'

/** After this many keep-alive comments in a row, the caller gets an event: Codex waits 300 s for one. */
const maxComments = 15
/** If more than this is buffered, the upstream is paused. */
const maxBufferedBytes = 16_384

export const streamHeaders = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-cache',
  'x-accel-buffering',
  'no',
]

export interface StreamWriterListener {
  /** Too much is buffered: pause the upstream. */
  onFull(): void
  /** Resume the upstream. */
  onWritable(): void
  onDisconnect(): void
  /** As of `StreamEncoder`. */
  idleEvent(): Buffer | null
}

export class StreamWriter {
  readonly #writer: ResponseWriter
  readonly #deps: RelayDeps
  readonly #context: RelayContext
  readonly #listener: StreamWriterListener
  readonly #keepAliveTimer: NodeJS.Timeout
  #slowClientTimer: NodeJS.Timeout | null = null
  readonly #buffer = new EventBuffer()
  #comments = 0
  #isBlocked = false
  #isFull = false
  #limit = -1
  #resolveDrained: (() => void) | null = null
  /** Output tokens that were sent. */
  sentTokens = 0

  constructor(deps: RelayDeps, context: RelayContext, listener: StreamWriterListener) {
    const writer = context.response
    this.#writer = writer
    this.#deps = deps
    this.#context = context
    this.#listener = listener
    this.#keepAliveTimer = setTimeout(() => this.#sendKeepAlive(), deps.keepAliveMs)
    // Created first and then assigned: docs/decisions/0026-request-objects-in-the-young-generation.md.
    const onDrain = (): void => this.#onDrain()
    const onDisconnect = (): void => this.#onDisconnect()
    writer.onDrain = onDrain
    writer.onDisconnect = onDisconnect
  }

  /** The tokens up to the first buffered event; `null` if the buffer is empty. */
  get nextTokens(): number | null {
    return this.#buffer.nextTokens
  }

  /** The tokens up to the last buffered event; `null` if the buffer is empty. */
  get lastTokens(): number | null {
    return this.#buffer.lastTokens
  }

  /** Sends an event now if the limit allows, else buffers it. The bytes are valid only during the call. */
  push(bytes: Buffer, totalTokens: number): void {
    if (this.#writer.isDisconnected) return
    if (this.#buffer.isEmpty && !this.#isBlocked && totalTokens <= this.#limit) {
      this.sentTokens = totalTokens
      this.#write(bytes)
      return
    }
    this.#buffer.add(bytes, totalTokens)
    if (this.#buffer.bytes > maxBufferedBytes) this.#applyBackPressure()
  }

  /** Events up to this many tokens may be sent. */
  setLimit(limit: number): void {
    this.#limit = limit
    this.#flush()
  }

  /** Drops buffered events after this many tokens. */
  dropAfter(tokens: number): void {
    this.#buffer.dropAfter(tokens)
  }

  /** As `dropAfter`, but keeps the part of an event that is within; `null`: there is none. */
  cutAfter(tokens: number): CutPosition | null {
    return this.#buffer.cutAfter(tokens, this.sentTokens)
  }

  /** Sends what is buffered. `null`: all was sent, or the caller has disconnected; else resolves at that time. */
  drain(): Promise<void> | null {
    this.setLimit(Infinity)
    if (this.#buffer.isEmpty || this.#writer.isDisconnected) return null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resolveDrained = resolve
    return promise
  }

  /** Writes the final events and ends the response, or cuts it if they do not complete it. */
  end(finalEvents: readonly Buffer[]): void {
    this.stop()
    if (this.#writer.isDisconnected) return
    if (!this.#writer.isStarted) this.#start()
    const last = Buffer.concat(finalEvents)
    this.#writer.write(last)
    if (this.#context.request.format.isCutAfter(last)) this.#writer.abort()
    else this.#writer.end()
  }

  /** Stops keep-alive events and callbacks. */
  stop(): void {
    clearTimeout(this.#keepAliveTimer)
    this.#clearSlowClientTimer()
    this.#writer.onDrain = null
    this.#writer.onDisconnect = null
  }

  #start(): void {
    this.#writer.start(200, [...streamHeaders, ...this.#context.headers])
  }

  #write(bytes: Buffer): void {
    if (!this.#writer.isStarted) this.#start()
    this.#keepAliveTimer.refresh()
    this.#comments = 0
    if (this.#writer.write(bytes)) return
    this.#isBlocked = true
    this.#slowClientTimer ??= setTimeout(() => this.#writer.destroy(), this.#deps.slowClientMs)
    this.#applyBackPressure()
  }

  #flush(): void {
    const buffer = this.#buffer
    while (!this.#isBlocked && !this.#writer.isDisconnected) {
      const { nextTokens } = buffer
      if (nextTokens === null || nextTokens > this.#limit) break
      this.sentTokens = nextTokens
      this.#write(buffer.shift())
    }
    if (this.#isFull && !this.#isBlocked && buffer.bytes <= maxBufferedBytes) {
      this.#isFull = false
      this.#listener.onWritable()
    }
    if (buffer.isEmpty && !this.#isBlocked) this.#resolveDrained?.()
  }

  #applyBackPressure(): void {
    if (this.#isFull) return
    this.#isFull = true
    this.#listener.onFull()
  }

  #clearSlowClientTimer(): void {
    if (this.#slowClientTimer) clearTimeout(this.#slowClientTimer)
    this.#slowClientTimer = null
  }

  #onDrain(): void {
    this.#isBlocked = false
    this.#clearSlowClientTimer()
    this.#flush()
  }

  #onDisconnect(): void {
    this.#buffer.clear()
    this.#clearSlowClientTimer()
    clearTimeout(this.#keepAliveTimer)
    this.#resolveDrained?.()
    if (this.#isFull) {
      this.#isFull = false
      this.#isBlocked = false
      this.#listener.onWritable()
    }
    this.#listener.onDisconnect()
  }

  #sendKeepAlive(): void {
    if (this.#writer.isDisconnected) return
    if (!this.#writer.isStarted) this.#start()
    this.#keepAliveTimer.refresh()
    if (this.#isBlocked) return
    // What waits for payment has its number already.
    const mayAddEvent = this.#comments >= maxComments && this.#buffer.isEmpty
    const event = mayAddEvent ? this.#listener.idleEvent() : null
    this.#comments = event ? 0 : this.#comments + 1
    this.#writer.write(event ?? this.#context.request.format.keepAlive)
  }
}
