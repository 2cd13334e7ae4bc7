/** The disk of a simulated node: what a commit has brought there stays; what was only in memory is gone with a crash. */
import { encodeHolds, restoreState, storedPartOf, type StoredOwner } from '../src/ledger/checkpoint.ts'
import type { LedgerEvent } from '../src/ledger/events.ts'
import { decodeEvents, encodeEvents } from '../src/ledger/journal.ts'
import { claimName, type LedgerState } from '../src/ledger/state.ts'
import type { KeptRow } from '../src/db/messages.ts'

export interface Commit {
  readonly seq: number
  readonly journal: string
  readonly owners: readonly (readonly [id: string, owner: StoredOwner])[]
  readonly overrun: bigint
  readonly holds: string | null
  readonly kept: readonly KeptRow[]
}

const checkpointEvery = 7
/** So long after its first request a key means that request. */
export const keptMs = 600_000

/** A commit as the store is given it: everything that was decided since the last one. */
export function commitOf(
  seq: number,
  { events, kept }: { readonly events: readonly LedgerEvent[]; readonly kept: readonly KeptRow[] },
  state: LedgerState,
): Commit {
  return {
    seq,
    journal: encodeEvents(events),
    owners: [...state.owners].map(([id, owner]) => [id, storedPartOf(owner)] as const),
    overrun: state.overrun,
    holds: seq % checkpointEvery === 0 ? encodeHolds(state) : null,
    kept,
  }
}

export class Disk {
  readonly journal: string[] = []
  readonly #owners = new Map<string, StoredOwner>()
  #overrun = 0n
  #holds: string | null = null
  #checkpoint = 0
  /** How far each request would be charged after a crash. */
  readonly marks = new Map<string, number>()
  /** What requests under an `Idempotency-Key` came to, by the names of their claims. */
  readonly #kept = new Map<string, KeptRow>()

  get lastSeq(): number {
    return this.journal.length
  }

  write(commit: Commit): void {
    this.journal.push(commit.journal)
    for (const [id, owner] of commit.owners) this.#owners.set(id, owner)
    this.#overrun = commit.overrun
    if (commit.holds !== null) {
      this.#holds = commit.holds
      this.#checkpoint = commit.seq
    }
    for (const row of commit.kept) {
      this.#kept.set(claimName(row.account_id, { key: row.key_hash, body: row.body_hash }), row)
    }
    for (const event of decodeEvents(commit.journal)) {
      if (event.kind === 'marked') this.marks.set(event.id, event.outputTokens)
      else if (event.kind === 'held') this.marks.set(event.id, 0)
    }
  }

  /** What a key came to, by the clock's opinion of when that was. */
  keptOf(name: string, now: number): KeptRow | undefined {
    const row = this.#kept.get(name)
    return row && row.at > now - keptMs ? row : undefined
  }

  /** Deletes what nobody can ask for any more. */
  dropExpired(now: number): void {
    for (const [name, { at }] of this.#kept) if (at <= now - keptMs) this.#kept.delete(name)
  }

  /** What a start makes of it. */
  restored(): LedgerState {
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
