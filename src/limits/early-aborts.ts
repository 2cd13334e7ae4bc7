/**
 * Requests that callers ended before the first content, counted per account in any 60 minutes. Each node counts its own,
 * in memory (docs/decisions/0042-early-aborts-per-node.md).
 */

const windowMs = 3_600_000
/** Beyond this, the account whose last early abort is the oldest is forgotten. */
const maxAccounts = 100_000

/** The times of an account's last early aborts, as many as are free in a window; the oldest is overwritten. */
interface LastAborts {
  readonly times: number[]
  oldest: number
  newest: number
}

export class EarlyAborts {
  readonly #freePerHour: number
  readonly #maxAccounts: number
  /** The account with the oldest last abort first. */
  readonly #byAccount = new Map<string, LastAborts>()

  constructor(freePerHour: number, accountLimit = maxAccounts) {
    this.#freePerHour = freePerHour
    this.#maxAccounts = accountLimit
  }

  /** Counts one; true if it is free. `now`: monotonic milliseconds. */
  count(account: string, now: number): boolean {
    if (this.#freePerHour === 0) return false
    const last = this.#byAccount.get(account) ?? { times: [], oldest: 0, newest: now }
    this.#byAccount.delete(account)
    this.#sweep(now)
    this.#byAccount.set(account, last)
    last.newest = now
    if (last.times.length < this.#freePerHour) {
      last.times.push(now)
      return true
    }
    const isFree = now - (last.times[last.oldest] ?? now) >= windowMs
    last.times[last.oldest] = now
    last.oldest = (last.oldest + 1) % this.#freePerHour
    return isFree
  }

  /** The number of accounts that are remembered. */
  get size(): number {
    return this.#byAccount.size
  }

  /** Forgets accounts whose aborts have all left the window, and the oldest ones if there are too many. */
  #sweep(now: number): void {
    for (const [account, { newest }] of this.#byAccount) {
      if (now - newest < windowMs && this.#byAccount.size < this.#maxAccounts) return
      this.#byAccount.delete(account)
    }
  }
}
