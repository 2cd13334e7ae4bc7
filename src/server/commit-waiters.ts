/** Who waits for which commit on the authority's own thread. */
import { refuse } from '../errors.ts'

export class CommitWaiters {
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()

  wait(commit: number): Promise<void> {
    const known = this.#waiting.get(commit) ?? Promise.withResolvers<void>()
    this.#waiting.set(commit, known)
    return known.promise
  }

  durable(commit: number): void {
    for (const [number, waiter] of this.#waiting) {
      if (number > commit) continue
      this.#waiting.delete(number)
      waiter.resolve()
    }
  }

  fail(): void {
    for (const waiter of this.#waiting.values()) waiter.reject(refuse('service_unavailable'))
    this.#waiting.clear()
  }
}
