/**
 * Guesses, held back: who asks for what does not exist too often is refused for a while, whatever is asked. One after
 * another for each who asks, so that many at once are not many guesses.
 */
import { refuse, Refusal } from '../errors.ts'

export interface AttemptBounds {
  readonly most: number
  readonly withinMs: number
  readonly now: () => number
}

/** More are not remembered: whoever guessed wrong longest ago is forgotten first. */
const rememberedMost = 10_000

export class Attempts {
  readonly #bounds: AttemptBounds
  /** When each guessed wrong, oldest first. */
  readonly #wrong = new Map<string, number[]>()
  readonly #queues = new Map<string, Promise<unknown>>()

  constructor(bounds: AttemptBounds) {
    this.#bounds = bounds
  }

  /** Does the work when it is this one's turn. Work that refuses with `not_found` was a wrong guess. */
  async take<Result>(who: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#queues.get(who) ?? Promise.resolve()
    const taken = before.then(() => this.#try(who, work))
    const ended = taken.catch(() => undefined)
    this.#queues.set(who, ended)
    try {
      return await taken
    } finally {
      if (this.#queues.get(who) === ended) this.#queues.delete(who)
    }
  }

  async #try<Result>(who: string, work: () => Promise<Result>): Promise<Result> {
    const { most, withinMs, now } = this.#bounds
    const recent = (this.#wrong.get(who) ?? []).filter((at) => at > now() - withinMs)
    if (recent.length === 0) this.#wrong.delete(who)
    else this.#wrong.set(who, recent)
    if (recent.length >= most) {
      const message = 'Too many attempts with codes that do not exist. Try again later.'
      throw refuse('rate_limit_exceeded', { message, retryAfterMs: (recent[0] ?? 0) + withinMs - now() })
    }
    try {
      return await work()
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') this.#note(who, [...recent, now()])
      throw error
    }
  }

  #note(who: string, wrong: number[]): void {
    this.#wrong.delete(who)
    this.#wrong.set(who, wrong)
    const [longest] = this.#wrong.keys()
    if (this.#wrong.size > rememberedMost && longest !== undefined) this.#wrong.delete(longest)
  }
}
