/**
 * Which `Idempotency-Key`s are in use: by an open hold, or by one that ended with a bill. Stored responses are read from
 * the disk, so this remembers only those that a reader may not have seen yet.
 */
import type { IdempotencyClaim } from '../../ledger/events.ts'
import { claimId, type Hold, type LedgerState } from '../../ledger/state.ts'
import type { IdempotencyClaimRequest, HoldRejected } from '../../relay/ledger-client.ts'
import type { CommitQueue } from './commit-queue.ts'

/** How long an ended claim is remembered at least. Readers that are not slower need to look only once. */
const retentionMs = 60_000

export interface IdempotencyClaimsDeps {
  readonly state: LedgerState
  readonly commits: Pick<CommitQueue, 'newest' | 'addStoredResponse'>
  readonly monotonicNow: () => number
}

export class IdempotencyClaims {
  readonly #deps: IdempotencyClaimsDeps
  /** The commits that wrote the responses of ended claims, by claim id. */
  #current = new Map<string, number>()
  #previous = new Map<string, number>()
  #rotatedAtMs = 0
  /** Claims that ended in this commit or an earlier one may have been forgotten. */
  #lastForgotten: number

  constructor(deps: IdempotencyClaimsDeps) {
    this.#deps = deps
    this.#lastForgotten = deps.commits.newest
  }

  /** Why a request may not use its key; `null`: it may. */
  check(account: string, request: IdempotencyClaimRequest): HoldRejected | null {
    const name = claimId(account, request)
    const open = this.#deps.state.claims.get(name)
    if (open) return conflictWith(open, request)
    const endedBy = Math.max(this.#current.get(name) ?? 0, this.#previous.get(name) ?? 0, this.#lastForgotten)
    if (endedBy <= request.seenCommit) return null
    return {
      granted: false,
      code: 'idempotency_conflict',
      detail: {},
      rates: null,
      retryAfterCommit: endedBy,
    }
  }

  /** A hold with a claim has ended with a bill: its response is stored. */
  recordEnded(hold: Hold, claim: IdempotencyClaim, cost: bigint, storedResponse: Uint8Array | null): void {
    const { commits, monotonicNow } = this.#deps
    const commit = commits.addStoredResponse({
      account_id: hold.account,
      key_hash: claim.key,
      body_hash: claim.body,
      request_id: hold.id,
      at: hold.at,
      cost_nanos: cost,
      answer: storedResponse,
    })
    if (monotonicNow() - this.#rotatedAtMs > retentionMs) this.#rotate(monotonicNow())
    this.#current.set(claimId(hold.account, claim), commit)
  }

  #rotate(nowMs: number): void {
    for (const commit of this.#previous.values()) this.#lastForgotten = Math.max(this.#lastForgotten, commit)
    this.#previous = this.#current
    this.#current = new Map()
    this.#rotatedAtMs = nowMs
  }
}

export function conflictWith({ id, claim }: Hold, request: IdempotencyClaimRequest): HoldRejected {
  if (claim?.body !== request.body) {
    const message = `This Idempotency-Key was used by request ${id}, which has a different body.`
    return { granted: false, code: 'idempotency_key_reused', detail: { message }, rates: null }
  }
  const message = `Request ${id} with this Idempotency-Key is still in progress.`
  const detail = { message, retryAfterMs: 1000 }
  return { granted: false, code: 'idempotency_conflict', detail, rates: null }
}
