/**
 * Events of a stream that wait, one behind the other in memory that is used again and again: under a flood, copies of
 * their own would be garbage by the gigabyte, outside V8's heap, where the system's allocator seldom gives it back.
 */

interface Waiting {
  readonly bytes: number
  /** Output tokens up to and with this event. */
  readonly upTo: number
}

const smallestBytes = 1024
/** Larger memory is let go once nothing waits, so that a stream at rest stays small. */
const keptBytes = 64 * 1024
const nothing = Buffer.alloc(0)

export class Backlog {
  #events: Waiting[] = []
  /** What waits lies in #memory[#start, #end). */
  #memory: Buffer = nothing
  #start = 0
  #end = 0

  get bytes(): number {
    return this.#end - this.#start
  }

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  /** The tokens of the first event; `null` when none waits. */
  get next(): number | null {
    return this.#events[0]?.upTo ?? null
  }

  /** Takes a copy of an event behind the others. */
  add(bytes: Buffer, upTo: number): void {
    this.#makeRoom(bytes.length)
    bytes.copy(this.#memory, this.#end)
    this.#end += bytes.length
    this.#events.push({ bytes: bytes.length, upTo })
  }

  /** The first event leaves; its bytes are valid until the next one is added. */
  shift(): Buffer {
    const from = this.#start
    this.#start += this.#events.shift()?.bytes ?? 0
    const bytes = this.#memory.subarray(from, this.#start)
    if (this.isEmpty) this.#rest()
    return bytes
  }

  /** Drops what comes after this many tokens. */
  dropBeyond(tokens: number): void {
    while ((this.#events.at(-1)?.upTo ?? -1) > tokens) this.#end -= this.#events.pop()?.bytes ?? 0
  }

  clear(): void {
    this.#events = []
    this.#rest()
  }

  #rest(): void {
    this.#start = 0
    this.#end = 0
    if (this.#memory.length > keptBytes) this.#memory = nothing
  }

  #makeRoom(bytes: number): void {
    if (this.#end + bytes <= this.#memory.length) return
    const needed = this.bytes + bytes
    const from = this.#memory
    if (needed > from.length) {
      this.#memory = Buffer.allocUnsafeSlow(Math.max(smallestBytes, needed, 2 * from.length))
    }
    from.copy(this.#memory, 0, this.#start, this.#end)
    this.#end -= this.#start
    this.#start = 0
  }
}
