/** One after another for each who asks, and beside all others: what is asked many times at once is still one thing at a time. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does the work when it is this one's turn. */
  async take<Result>(who: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(who) ?? Promise.resolve()
    const taken = before.then(work)
    const ended = taken.catch(() => undefined)
    this.#last.set(who, ended)
    try {
      return await taken
    } finally {
      if (this.#last.get(who) === ended) this.#last.delete(who)
    }
  }
}
