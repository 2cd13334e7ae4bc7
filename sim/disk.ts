/** The disk of a simulated node: committed data survives a crash, everything else is lost. */
import { encodeHolds, restoreState, type StoredOwner } from '../src/ledger/checkpoint.ts'
import { toStoredOwner } from '../src/ledger/ledger.fixture.ts'
import type { LedgerEvent } from '../src/ledger/events.ts'
import { decodeEvents, encodeEvents } from '../src/ledger/journal.ts'
import { claimId, type LedgerState } from '../src/ledger/state.ts'
import type { StoredResponseRow } from '../src/db/ledger-commit.ts'

export interface SimCommit {
  readonly seq: number
  readonly journal: string
  readonly owners: readonly (readonly [id: string, owner: StoredOwner])[]
  readonly overrun: bigint
  readonly holds: string | null
  readonly storedResponses: readonly StoredResponseRow[]
}

const checkpointEvery = 7
/** How long a key refers to its first request. */
export const idempotencyWindowMs = 600_000

/** A commit as given to the store: everything decided since the last one. */
export function buildCommit(
  seq: number,
  {
    events,
    storedResponses,
  }: { readonly events: readonly LedgerEvent[]; readonly storedResponses: readonly StoredResponseRow[] },
  state: LedgerState,
): SimCommit {
  return {
    seq,
    journal: encodeEvents(events),
    owners: [...state.owners].map(([id, owner]) => [id, toStoredOwner(owner)] as const),
    overrun: state.overrun,
    holds: seq % checkpointEvery === 0 ? encodeHolds(state) : null,
    storedResponses,
  }
}

export class SimDisk {
  readonly journal: string[] = []
  readonly #owners = new Map<string, StoredOwner>()
  #overrun = 0n
  #holds: string | null = null
  #checkpoint = 0
  /** How far each request would be charged after a crash. */
  readonly marks = new Map<string, number>()
  /** Stored responses by claim id. */
  readonly #storedResponses = new Map<string, StoredResponseRow>()

  get lastSeq(): number {
    return this.journal.length
  }

  write(commit: SimCommit): void {
    this.journal.push(commit.journal)
    for (const [id, owner] of commit.owners) this.#owners.set(id, owner)
    this.#overrun = commit.overrun
    if (commit.holds !== null) {
      this.#holds = commit.holds
      this.#checkpoint = commit.seq
    }
    for (const row of commit.storedResponses) {
      this.#storedResponses.set(claimId(row.account_id, { key: row.key_hash, body: row.body_hash }), row)
    }
    for (const event of decodeEvents(commit.journal)) {
      if (event.kind === 'marked') this.marks.set(event.id, event.outputTokens)
      else if (event.kind === 'held') this.marks.set(event.id, 0)
    }
  }

  /** The stored response of a key that has not expired at `now`. */
  storedResponse(name: string, now: number): StoredResponseRow | undefined {
    const row = this.#storedResponses.get(name)
    return row && row.at > now - idempotencyWindowMs ? row : undefined
  }

  /** Deletes expired responses. */
  dropExpired(now: number): void {
    for (const [name, { at }] of this.#storedResponses)
      if (at <= now - idempotencyWindowMs) this.#storedResponses.delete(name)
  }

  /** The state that a start restores from the disk. */
  restore(): LedgerState {
    return restoreState({
      holds: this.#holds,
      journal: this.journal.slice(this.#checkpoint),
      owners: this.#owners,
      overrun: this.#overrun,
    })
  }

  events(): LedgerEvent[] {
    return this.journal.flatMap(decodeEvents)
  }
}
