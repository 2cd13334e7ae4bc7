/**
 * The responses that a connection can continue: the items of each with those before it, in memory and nowhere else. They
 * count in a budget of all connections of the worker; the oldest is forgotten first.
 */
import type { BodyBudget } from '../body.ts'
import type { Items } from './response-create.ts'

/** As many as can run at once, so that each conversation of a connection can be continued. */
export const maxRemembered = 16

interface RememberedResponse {
  readonly items: Items
  /** The lane that has created it. */
  readonly streamId: string | null
}

export class RememberedResponses {
  readonly #budget: BodyBudget
  readonly #accountId: string
  readonly #responses = new Map<string, RememberedResponse>()

  constructor(budget: BodyBudget, accountId: string) {
    this.#budget = budget
    this.#accountId = accountId
  }

  get(id: string): RememberedResponse | undefined {
    return this.#responses.get(id)
  }

  /** Remembers a response unless the budget has no room for it, even without all others of this connection. */
  add(id: string, response: RememberedResponse): void {
    this.delete(id)
    while (!this.#reserve(response)) {
      const [oldest] = this.#responses.keys()
      if (oldest === undefined) return
      this.delete(oldest)
    }
    this.#responses.set(id, response)
  }

  delete(id: string): void {
    const response = this.#responses.get(id)
    if (!response) return
    this.#responses.delete(id)
    this.#budget.release(this.#accountId, response.items.text.length)
  }

  clear(): void {
    for (const id of this.#responses.keys()) this.delete(id)
  }

  #reserve({ items: { text } }: RememberedResponse): boolean {
    if (this.#responses.size >= maxRemembered) return false
    try {
      this.#budget.reserve(this.#accountId, text.length, text.length)
      return true
    } catch {
      return false
    }
  }
}
