/**
 * A connection between two channels of the same thread. Messages arrive at once: batched calls as they are, calls of
 * services as copies, as from another thread.
 */

type Listener = (received: never) => void

export class LocalPort {
  #peer: LocalPort = this
  /** What arrived before the other end was served. */
  #waiting: (() => void)[] | null = []
  readonly #listeners = new Map<string, Listener>()

  static createPair(): readonly [LocalPort, LocalPort] {
    const [one, other] = [new LocalPort(), new LocalPort()]
    one.#peer = other
    other.#peer = one
    return [one, other]
  }

  on(event: 'message' | 'batched' | 'close', listener: Listener): void {
    this.#listeners.set(event, listener)
    if (event !== 'message') return
    const waiting = this.#waiting ?? []
    this.#waiting = null
    for (const deliver of waiting) deliver()
  }

  postMessage(message: unknown): void {
    this.#peer.#receive('message', structuredClone(message))
  }

  /** Sends a batched call or its reply. */
  sendBatched(message: unknown): void {
    this.#peer.#receive('batched', message)
  }

  /** Both ends hear of it, and nothing more. */
  close(): void {
    for (const end of [this, this.#peer]) {
      end.#receive('close', undefined)
      if (end.#waiting === null) end.#listeners.clear()
    }
  }

  /** A thread is kept alive by what else it does. */
  ref(): void {}

  unref(): void {}

  #receive(event: string, message: unknown): void {
    if (this.#waiting !== null) return void this.#waiting.push(() => this.#receive(event, message))
    try {
      this.#listeners.get(event)?.(message as never)
    } catch (error) {
      // Not an error of the sender: as in another thread, nothing catches it.
      process.nextTick(() => {
        throw error
      })
    }
  }
}
