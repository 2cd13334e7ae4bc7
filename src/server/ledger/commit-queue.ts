/**
 * Group commit: while one commit is being written, what happens gathers; the next commit takes all of it.
 * A hold alone does not hurry, for nobody waits for it before the upstream speaks; whatever somebody waits for is
 * written at once. So a quick answer costs one commit, hold and bill together.
 */
import { transfersOf } from '../../ledger/entries.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import { encodeEvents } from '../../ledger/journal.ts'
import type { LedgerState, Owner } from '../../ledger/state.ts'
import type { EntryRow, KeptRow, LedgerCommit, OwnerRow, RequestRow } from '../../db/messages.ts'
import { StoreError } from '../../db/store-error.ts'
import { encodeHolds } from '../../ledger/checkpoint.ts'
import { errorWords } from '../../lib/error-message.ts'

/** How long a hold waits for company before it is written alone. */
const lingerMs = 4
/** Under load, how long what is waited for gathers company: a commit costs the same however much is in it. */
const gatherMs = 1
/** From so many open holds on there is load. */
const busyHolds = 16
/** How long a full disk is left alone before the commit is tried again. */
const retryMs = 500
/** So many commits after the last checkpoint, the open holds are written down again. */
const checkpointEvery = 2000

export interface CommitSink {
  commit(commit: LedgerCommit): Promise<void>
}

export interface CommitListener {
  durable(commit: number): void
  /** The store takes commits again, or no longer. */
  admitting(open: boolean, why: string): void
  /** The disk cannot be trusted any more: the process has to end. */
  failed(why: string): void
}

interface Batch {
  readonly events: LedgerEvent[]
  readonly entries: EntryRow[]
  readonly owners: Set<string>
  readonly requests: RequestRow[]
  readonly kept: KeptRow[]
}

const emptyBatch = (): Batch => ({ events: [], entries: [], owners: new Set(), requests: [], kept: [] })

export function ownerRow(id: string, owner: Owner): OwnerRow {
  return {
    id,
    balance_nanos: owner.balance,
    day_end: owner.dayEnd,
    day_spent_nanos: owner.daySpent,
    day_requests: owner.dayRequests,
    month_end: owner.monthEnd,
    month_spent_nanos: owner.monthSpent,
    total_spent_nanos: owner.totalSpent,
    flags: owner.overran ? 1 : 0,
  }
}

/** The postings of an event. `account`: whose hold it was. */
export function entryRowsOf(event: LedgerEvent, account: string): EntryRow[] {
  return transfersOf(event, account).map((transfer) => {
    const { at, debit, credit, amount, kind, ref, reason, source } = transfer
    return {
      at,
      debit,
      credit,
      amount_nanos: amount,
      kind,
      account_id: transfer.account,
      ref,
      reason,
      source,
    }
  })
}

export class CommitQueue {
  readonly #state: LedgerState
  readonly #sink: CommitSink
  readonly #listener: CommitListener
  readonly #now: () => number
  #batch = emptyBatch()
  #next: number
  #durable: number
  #checkpointAt: number
  #writing = false
  #scheduled = false
  #linger: NodeJS.Timeout | null = null
  #admitting = true

  constructor(
    state: LedgerState,
    io: { sink: CommitSink; listener: CommitListener; now: () => number },
    lastCommit: number,
  ) {
    this.#state = state
    this.#sink = io.sink
    this.#listener = io.listener
    this.#now = io.now
    this.#next = lastCommit + 1
    this.#durable = lastCommit
    this.#checkpointAt = lastCommit
  }

  /** The last commit that is on disk. */
  get durable(): number {
    return this.#durable
  }

  /** The last commit that has anything in it, written or not: what was decided before is in it, or in an earlier one. */
  get newest(): number {
    return this.#isEmpty ? this.#next - 1 : this.#next
  }

  get admitting(): boolean {
    return this.#admitting
  }

  /**
   * Takes an event that has been applied, with the owners it touched, into the commit whose number is returned.
   * `account`: whose hold it was.
   */
  add(event: LedgerEvent, owners: readonly string[], account: string): number {
    this.#batch.events.push(event)
    for (const owner of owners) this.#batch.owners.add(owner)
    for (const row of entryRowsOf(event, account)) this.#batch.entries.push(row)
    this.#linger ??= setTimeout(() => this.#flushSoon(), lingerMs)
    return this.#next
  }

  /** A request's row travels with the commit that ends its hold. */
  addRequest(row: RequestRow): number {
    this.#batch.requests.push(row)
    this.#linger ??= setTimeout(() => this.#flushSoon(), lingerMs)
    return this.#next
  }

  /** What a request came to, for whoever repeats it: with the commit that ends its hold. */
  addKept(row: KeptRow): number {
    this.#batch.kept.push(row)
    return this.#next
  }

  /** Somebody waits for this commit. */
  need(commit: number): void {
    if (commit >= this.#next) this.#flushSoon()
  }

  /** At the end of this turn of the loop, so that everything that came with it goes along. */
  #flushSoon(): void {
    if (this.#linger) clearTimeout(this.#linger)
    this.#linger = null
    if (this.#scheduled || this.#writing) {
      this.#scheduled = true
      return
    }
    this.#scheduled = true
    if (this.#state.holds.size >= busyHolds) setTimeout(() => void this.#write(), gatherMs)
    else setImmediate(() => void this.#write())
  }

  #take(): LedgerCommit {
    const { events, entries, owners, requests, kept } = this.#batch
    this.#batch = emptyBatch()
    const seq = this.#next
    this.#next += 1
    const rows: OwnerRow[] = []
    for (const id of owners) {
      const owner = this.#state.owners.get(id)
      if (owner) rows.push(ownerRow(id, owner))
    }
    const journal = encodeEvents(events)
    const commit: LedgerCommit = { seq, at: this.#now(), journal, entries, owners: rows, requests, kept }
    if (seq - this.#checkpointAt < checkpointEvery) return commit
    this.#checkpointAt = seq
    return { ...commit, checkpoint: { holds: encodeHolds(this.#state) } }
  }

  get #isEmpty(): boolean {
    return this.#batch.events.length === 0 && this.#batch.requests.length === 0
  }

  async #write(): Promise<void> {
    this.#scheduled = false
    if (this.#writing || this.#isEmpty) return
    this.#writing = true
    const commit = this.#take()
    const written = await this.#persist(commit)
    this.#writing = false
    if (!written) return
    this.#durable = commit.seq
    this.#listener.durable(commit.seq)
    if (this.#scheduled) {
      this.#scheduled = false
      this.#flushSoon()
    }
  }

  /** Writes one commit, waiting out a full disk; false when the disk has failed for good. */
  async #persist(commit: LedgerCommit): Promise<boolean> {
    for (;;) {
      try {
        await this.#sink.commit(commit)
        this.#admit(true, '')
        return true
      } catch (error) {
        const why = errorWords(error)
        this.#admit(false, why)
        if (!(error instanceof StoreError) || error.class !== 'full') {
          this.#listener.failed(why)
          return false
        }
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  #admit(open: boolean, why: string): void {
    if (this.#admitting === open) return
    this.#admitting = open
    this.#listener.admitting(open, why)
  }

  /** Resolves when everything that was taken in is on disk. */
  async drained(): Promise<void> {
    while (this.#writing || !this.#isEmpty) {
      this.#flushSoon()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
