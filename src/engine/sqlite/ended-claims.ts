/**
 * Which `Idempotency-Key`s have ended with a bill on a single node. Their responses are read from the disk, so this
 * remembers only those that a reader may not have seen yet.
 */

/** How long an ended claim is remembered at least. Readers that are not slower need to look only once. */
const retentionMs = 60_000

export class EndedClaims {
  readonly #monotonicNow: () => number
  /** The commits that wrote the responses of ended claims, by claim id. */
  #current = new Map<string, number>()
  #previous = new Map<string, number>()
  #rotatedAtMs = 0
  /** Claims that ended in this commit or an earlier one may have been forgotten. */
  #lastForgotten: number

  /** `newest`: the newest commit. */
  constructor(monotonicNow: () => number, newest: number) {
    this.#monotonicNow = monotonicNow
    this.#lastForgotten = newest
  }

  /** The commit in which a reader that has looked in `seenCommit` must look again; `null`: it has seen the response. */
  storedBy(claim: string, seenCommit: number): number | null {
    const current = this.#current.get(claim) ?? 0
    const commit = Math.max(current, this.#previous.get(claim) ?? 0, this.#lastForgotten)
    return commit <= seenCommit ? null : commit
  }

  /** The response is stored in this commit. */
  add(claim: string, commit: number): void {
    const nowMs = this.#monotonicNow()
    if (nowMs - this.#rotatedAtMs > retentionMs) this.#rotate(nowMs)
    this.#current.set(claim, commit)
  }

  #rotate(nowMs: number): void {
    for (const commit of this.#previous.values()) this.#lastForgotten = Math.max(this.#lastForgotten, commit)
    this.#previous = this.#current
    this.#current = new Map()
    this.#rotatedAtMs = nowMs
  }
}
