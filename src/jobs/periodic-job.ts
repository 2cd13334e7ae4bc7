/** A job of which one step runs at a time: the next one begins some time after the end of the last. */
export abstract class PeriodicJob {
  readonly #everyMs: number
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false

  /** `everyMs`: 0: never. */
  constructor(everyMs: number, firstAfterMs: number = everyMs) {
    this.#everyMs = everyMs
    if (everyMs > 0) this.#schedule(firstAfterMs)
  }

  protected get isClosed(): boolean {
    return this.#isClosed
  }

  protected abstract run(): Promise<void>

  /** The step failed. */
  protected abstract onError(error: unknown): void | Promise<void>

  /** Waits for the running step. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      const step = this.run().catch((error: unknown) => this.onError(error))
      this.#running = step.then(() => this.#schedule(this.#everyMs))
    }, afterMs)
    this.#timer.unref()
  }
}
