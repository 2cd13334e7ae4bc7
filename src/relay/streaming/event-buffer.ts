/**
 * Buffers events of a stream, one after another in memory that is reused: under load, a copy for each event would be
 * gigabytes of garbage outside V8's heap, which the system's allocator rarely returns.
 */

import { cutEncoded, type CutPosition } from './cut-text.ts'

interface BufferedEvent {
  readonly bytes: number
  /** Output tokens up to and including this event. */
  readonly totalTokens: number
}

const minCapacityBytes = 1024
/** Larger memory is freed once the buffer is empty, so that an idle stream stays small. */
const maxIdleBytes = 64 * 1024
const emptyBuffer = Buffer.alloc(0)

export class EventBuffer {
  #events: BufferedEvent[] = []
  /** The buffered events are in #memory[#start, #end). */
  #memory: Buffer = emptyBuffer
  #start = 0
  #end = 0

  get bytes(): number {
    return this.#end - this.#start
  }

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  /** The tokens up to the first event; `null` if the buffer is empty. */
  get nextTokens(): number | null {
    return this.#events[0]?.totalTokens ?? null
  }

  /** The tokens up to the last event; `null` if the buffer is empty. */
  get lastTokens(): number | null {
    return this.#events.at(-1)?.totalTokens ?? null
  }

  /** Appends a copy of an event. */
  add(bytes: Buffer, totalTokens: number): void {
    this.#ensureCapacity(bytes.length)
    bytes.copy(this.#memory, this.#end)
    this.#end += bytes.length
    this.#events.push({ bytes: bytes.length, totalTokens })
  }

  /** Removes the first event. Its bytes are valid until the next one is added. */
  shift(): Buffer {
    const from = this.#start
    this.#start += this.#events.shift()?.bytes ?? 0
    const bytes = this.#memory.subarray(from, this.#start)
    if (this.isEmpty) this.#reset()
    return bytes
  }

  /** Drops events after this many tokens. */
  dropAfter(tokens: number): void {
    while ((this.#events.at(-1)?.totalTokens ?? -1) > tokens) this.#end -= this.#events.pop()?.bytes ?? 0
  }

  /**
   * Drops events after this many tokens, but keeps the part of the first of them that is within. `null`: nothing of it is.
   * @param before the tokens before the first event
   */
  cutAfter(tokens: number, before: number): CutPosition | null {
    let first: BufferedEvent | undefined
    while ((this.#events.at(-1)?.totalTokens ?? -1) > tokens) {
      first = this.#events.pop()
      this.#end -= first?.bytes ?? 0
    }
    if (!first) return null
    const kept = this.#events.at(-1)?.totalTokens ?? before
    const part = cutEncoded(this.#memory.subarray(this.#end, this.#end + first.bytes), tokens - kept)
    if (!part) return null
    const delivered = kept + part.tokens
    this.add(part.bytes, delivered)
    return { delivered, upTo: first.totalTokens }
  }

  clear(): void {
    this.#events = []
    this.#reset()
  }

  #reset(): void {
    this.#start = 0
    this.#end = 0
    if (this.#memory.length > maxIdleBytes) this.#memory = emptyBuffer
  }

  #ensureCapacity(bytes: number): void {
    if (this.#end + bytes <= this.#memory.length) return
    const needed = this.bytes + bytes
    const from = this.#memory
    if (needed > from.length) {
      this.#memory = Buffer.allocUnsafeSlow(Math.max(minCapacityBytes, needed, 2 * from.length))
    }
    from.copy(this.#memory, 0, this.#start, this.#end)
    this.#end -= this.#start
    this.#start = 0
  }
}
