/**
 * One batch of a node: the same decisions as on a single node, over a state of only the rows that the batch touches.
 * If the transaction fails, nothing of it is kept; once it is committed, the node adopts the result.
 */
import type { EntryRow, StoredResponseRow, RequestRow } from '../../db/ledger-commit.ts'
import type { HoldRow, LockedRows } from '../../db/postgres/lock-batch.ts'
import type { BatchRows } from '../../db/postgres/write-batch.ts'
import { LedgerInvariantError } from '../../ledger/apply.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import { decide } from '../../ledger/decide.ts'
import type { LedgerTransaction, Operation, RetiredHold } from '../../ledger/transaction.ts'
import { books, entryRowsOf } from '../../ledger/entries.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import type { Reopening } from '../../ledger/reopen.ts'
import { emptyState, ownerOf, type Hold, type LedgerState } from '../../ledger/state.ts'
import type { NodeHoldsView } from './batch-needs.ts'
import type { CapsOf } from './late-charges.ts'
import { holdRowOf, markOfRow, ownerFromRow, ownerToRow } from './shared-rows.ts'
import type { QueuedOperation } from './queued-operations.ts'

export type BatchResult = Omit<BatchRows, 'seq' | 'node' | 'commit' | 'areRequestsKnown'>

/** The hold that an operation is about; empty: none. */
function holdIdOf(operation: Operation): string {
  if (operation.kind === 'hold') return operation.hold.id
  if (operation.kind === 'settle') return operation.request.id
  return 'id' in operation ? operation.id : ''
}

export class Batch implements LedgerTransaction {
  readonly state: LedgerState = emptyState()
  readonly events: LedgerEvent[] = []
  readonly entries: EntryRow[] = []
  readonly requests: RequestRow[] = []
  readonly storedResponses: StoredResponseRow[] = []
  /** To be sent once the batch is committed. */
  readonly replies: (() => void)[] = []
  readonly ended = new Set<string>()
  readonly #nodeHolds: NodeHoldsView
  readonly #lateCapsOf: CapsOf | null
  readonly #touchedOwners = new Set<string>()
  readonly #openedHolds = new Set<string>()
  readonly #touchedHolds = new Set<string>()
  /** Holds whose node was retired, with what they were charged: as loaded, and (below) as of this batch. */
  readonly #retiredHolds = new Map<string, HoldRow>()
  readonly #newlyRetired: Omit<HoldRow, 'node'>[] = []
  readonly #storedClaims: Set<string>

  /** `lateCapsOf`: the caps of late bills; `null`: they are not charged. */
  constructor(nodeHolds: NodeHoldsView, rows: LockedRows, lateCapsOf: CapsOf | null) {
    this.#nodeHolds = nodeHolds
    this.#lateCapsOf = lateCapsOf
    for (const row of rows.owners) this.state.owners.set(row.id, ownerFromRow(row))
    for (const row of rows.holds) {
      if (row.retired_at !== null) this.#retiredHolds.set(row.id, row)
      else this.state.holds.set(row.id, decodeHold(row.body, markOfRow(row)))
    }
    for (const { body, claim } of rows.claimed) this.state.claims.set(claim, decodeHold(body, null))
    this.#storedClaims = new Set(rows.claimsWithResponse)
    for (const { ref, debit, amount_nanos: amount } of rows.credits) {
      this.state.credits.set(ref, debit === books.funding ? amount : -amount)
    }
  }

  /**
   * Applies the operations that are still wanted in their order, after all marks that the database does not have yet.
   * `reopenings`: of owners that enter other periods after a clock was wrong.
   */
  run(operations: readonly QueuedOperation[], reopenings: readonly Reopening[] = []): void {
    for (const reopening of reopenings) decide(this, { kind: 'reopen', reopening })
    for (const [id, mark] of this.#nodeHolds.marks) {
      if (this.#findHold(id)) decide(this, { kind: 'mark', id, ...mark })
    }
    for (const each of operations) if (!each.isAbandoned) this.#apply(each)
  }

  #apply(queuedOperation: QueuedOperation): void {
    const { operation, retiredOwners } = queuedOperation
    if (operation.kind === 'row') return void this.requests.push(operation.row)
    const held = this.#findHold(holdIdOf(operation))
    const result = decide(this, operation)
    this.replies.push(() => queuedOperation.reply(result))
    if (operation.kind !== 'expire' || !retiredOwners || !held || typeof result !== 'bigint') return
    // The row of a hold whose node was retired stays: the node may come back with its bill.
    this.ended.delete(held.id)
    this.#newlyRetired.push(holdRowOf(held, { at: operation.at, charge: result }))
  }

  /** An open hold in this batch's state: a copy of the node's own, or one that was loaded. */
  #findHold(id: string): Hold | undefined {
    const held = this.state.holds.get(id)
    if (held || this.ended.has(id)) return held
    const own = this.#nodeHolds.holds.get(id)
    if (!own) return undefined
    const copy = { ...own }
    this.state.holds.set(id, copy)
    return copy
  }

  storedBy(claim: string): number | null {
    return this.#storedClaims.has(claim) ? 0 : null
  }

  takeRetired(id: string): RetiredHold | undefined {
    const row = this.#retiredHolds.get(id)
    if (!row) return undefined
    this.#retiredHolds.delete(id)
    this.ended.add(id)
    const retired = decodeHold(row.body, null)
    return { hold: retired, charge: row.charged_nanos ?? 0n, caps: this.#lateCapsOf?.(retired) ?? null }
  }

  addEvent(event: LedgerEvent, owners: readonly string[], account: string): void {
    const { kind, id } = event
    this.events.push(event)
    this.entries.push(...entryRowsOf(event, account))
    for (const owner of owners) this.#touchedOwners.add(owner)
    if (kind === 'held') this.#openedHolds.add(id)
    else if (kind === 'extended' || kind === 'marked') this.#touchedHolds.add(id)
    else if (kind === 'settled' || kind === 'released') this.ended.add(id)
  }

  addRequest(row: RequestRow): void {
    this.requests.push(row)
  }

  addStoredResponse(row: StoredResponseRow, claim: string): void {
    this.#storedClaims.add(claim)
    this.storedResponses.push(row)
  }

  get isEmpty(): boolean {
    return this.events.length === 0 && this.requests.length === 0 && this.ended.size === 0
  }

  *#openHoldsOf(ids: Iterable<string>): Generator<Hold> {
    for (const id of ids) {
      const hold = this.state.holds.get(id)
      if (hold) yield hold
    }
  }

  /** Open holds that are new or have changed. */
  *changedHolds(): Generator<Hold> {
    yield* this.#openHoldsOf(this.#openedHolds.union(this.#touchedHolds))
  }

  /** The result, as it is written with its commit. `endingHolds`: holds whose rows are already deleted. */
  result(endingHolds: readonly string[]): BatchResult {
    const open = endingHolds.find((id) => !this.ended.has(id))
    if (open !== undefined) throw new LedgerInvariantError(`the hold ${open} was settled and is open`)
    const { entries, requests, storedResponses } = this
    const rowsOf = (ids: Iterable<string>) =>
      Array.from(this.#openHoldsOf(ids), (hold) => holdRowOf(hold, null))
    return {
      entries,
      requests,
      storedResponses,
      owners: Array.from(this.#touchedOwners, (id) => ownerToRow(id, ownerOf(this.state, id))),
      opened: rowsOf(this.#openedHolds),
      changed: [...rowsOf(this.#touchedHolds.difference(this.#openedHolds)), ...this.#newlyRetired],
      ended: [...this.ended.difference(new Set(endingHolds))],
    }
  }

  /** Ids of holds that are no longer open. */
  endedIds(): string[] {
    return [...this.ended, ...this.#newlyRetired.map(({ id }) => id)]
  }
}
