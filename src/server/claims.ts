/**
 * Which `Idempotency-Key`s are taken, exactly: by a hold that is open, or by one that has ended with a bill. What a key
 * came to is read from the disk, so only what a reader cannot have seen yet is remembered here.
 */
import type { Claim } from '../ledger/events.ts'
import { claimName, type Hold, type LedgerState } from '../ledger/state.ts'
import type { ClaimAsk, HoldRefused } from '../relay/ledger-client.ts'
import type { CommitQueue } from './ledger/commit-queue.ts'

/** How long an ended claim is remembered at least, so that readers who are not that slow look once. */
const rememberedMs = 60_000

export interface ClaimParts {
  readonly state: LedgerState
  readonly commits: Pick<CommitQueue, 'newest' | 'addKept'>
  readonly steady: () => number
}

export class Claims {
  readonly #parts: ClaimParts
  /** The commits that wrote down what ended claims came to, by the claims' names. */
  #newer = new Map<string, number>()
  #older = new Map<string, number>()
  #turnedAtMs = 0
  /** Claims that ended in this commit or before may have been forgotten. */
  #forgotten: number

  constructor(parts: ClaimParts) {
    this.#parts = parts
    this.#forgotten = parts.commits.newest
  }

  /** Why a request may not have its key; null when it may. */
  denial(account: string, ask: ClaimAsk): HoldRefused | null {
    const name = claimName(account, ask)
    const open = this.#parts.state.claims.get(name)
    if (open) return running(open, ask)
    const endedBy = Math.max(this.#newer.get(name) ?? 0, this.#older.get(name) ?? 0, this.#forgotten)
    if (endedBy <= ask.seen) return null
    return { granted: false, code: 'idempotency_conflict', detail: {}, rates: null, lookAgain: endedBy }
  }

  /** A hold that claimed a key has ended with a bill: so it is kept, with what its caller was told. */
  keep(hold: Hold, claim: Claim, cost: bigint, answer: Uint8Array | null): void {
    const { commits, steady } = this.#parts
    const commit = commits.addKept({
      account_id: hold.account,
      key_hash: claim.key,
      body_hash: claim.body,
      request_id: hold.id,
      at: hold.at,
      cost_nanos: cost,
      answer,
    })
    if (steady() - this.#turnedAtMs > rememberedMs) this.#turn(steady())
    this.#newer.set(claimName(hold.account, claim), commit)
  }

  #turn(nowMs: number): void {
    for (const commit of this.#older.values()) this.#forgotten = Math.max(this.#forgotten, commit)
    this.#older = this.#newer
    this.#newer = new Map()
    this.#turnedAtMs = nowMs
  }
}

export function running({ id, claim }: Hold, ask: ClaimAsk): HoldRefused {
  if (claim?.body !== ask.body) {
    const message = `This Idempotency-Key is that of request ${id}, which has another body.`
    return { granted: false, code: 'idempotency_key_reused', detail: { message }, rates: null }
  }
  const message = `Request ${id} with this Idempotency-Key is still running.`
  const detail = { message, retryAfterMs: 1000 }
  return { granted: false, code: 'idempotency_conflict', detail, rates: null }
}
