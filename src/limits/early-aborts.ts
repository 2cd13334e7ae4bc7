/**
 * Requests that callers ended before the first content, counted per account in any 60 minutes. Each node counts its own,
 * in memory (docs/decisions/0042-early-aborts-per-node.md).
 */

const windowMs = 3_600_000
/** The free ones of an hour have at most this much input together. */
const maxFreeTokens = 200_000
/** Beyond this, the account whose last early abort is the oldest is forgotten. */
const maxAccounts = 100_000

interface Abort {
  readonly at: number
  readonly tokens: number
}

export class EarlyAborts {
  readonly #freePerHour: number
  readonly #maxAccounts: number
  /** The last ones of each account, the oldest first, as many as are free; the account with the oldest last abort first. */
  readonly #byAccount = new Map<string, readonly Abort[]>()

  constructor(freePerHour: number, accountLimit = maxAccounts) {
    this.#freePerHour = freePerHour
    this.#maxAccounts = accountLimit
  }

  /** Counts one with this much input; true if it is free. `now`: monotonic milliseconds. */
  count(account: string, { tokens, now }: { readonly tokens: number; readonly now: number }): boolean {
    if (this.#freePerHour === 0) return false
    const known = this.#byAccount.get(account) ?? []
    this.#byAccount.delete(account)
    this.#sweep(now)
    const counted = [...known, { at: now, tokens }]
    this.#byAccount.set(account, counted.slice(-this.#freePerHour))
    const recent = counted.filter(({ at }) => now - at < windowMs)
    const together = recent.reduce((sum, abort) => sum + abort.tokens, 0)
    return recent.length <= this.#freePerHour && together <= maxFreeTokens
  }

  /** The number of accounts that are remembered. */
  get size(): number {
    return this.#byAccount.size
  }

  /** Forgets accounts whose aborts have all left the window, and the oldest ones if there are too many. */
  #sweep(now: number): void {
    for (const [account, aborts] of this.#byAccount) {
      if (now - (aborts.at(-1)?.at ?? 0) < windowMs && this.#byAccount.size < this.#maxAccounts) return
      this.#byAccount.delete(account)
    }
  }
}
