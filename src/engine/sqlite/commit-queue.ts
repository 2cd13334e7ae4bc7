/**
 * Group commit: events queue while one commit is being written, and the next commit takes all of them. A hold alone is
 * not urgent, because nothing waits for it before the upstream responds; everything that a caller waits for is written at
 * once. So a fast response costs one commit, for hold and bill together.
 */
import { entryRowsOf } from '../../ledger/entries.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import { encodeEvents } from '../../ledger/journal.ts'
import type { LedgerState, Owner } from '../../ledger/state.ts'
import type {
  EntryRow,
  StoredResponseRow,
  LedgerCommit,
  OwnerRow,
  RequestRow,
} from '../../db/ledger-commit.ts'
import { apiError } from '../../errors.ts'
import { StoreError } from '../../db/store-error.ts'
import { encodeHolds } from '../../ledger/checkpoint.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { CommitLatency } from '../commit-latency.ts'

/** How long a hold waits for other events before it is written. */
const lingerMs = 4
/** How long urgent events wait for others under load: a commit costs the same however much it contains. */
const batchDelayMs = 1
/** With this many open holds or more there is load. */
const busyHolds = 16
/** After how long a commit is retried on a full disk. */
const retryMs = 500
/** After this many commits the open holds are written as a checkpoint. */
const checkpointEveryCommits = 2000

export interface CommitSink {
  commit(commit: LedgerCommit): Promise<void>
}

export interface CommitListener {
  onDurable(commit: number): void
  /** The store accepts commits again, or no longer. */
  onAdmissionChange(isOpen: boolean, why: string): void
  /** The disk cannot be trusted any more: the process must exit. */
  onFailure(why: string): void
}

export interface CommitIo {
  readonly sink: CommitSink
  readonly listener: CommitListener
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface CommitWaiter extends PromiseWithResolvers<void> {
  readonly commit: number
}

interface Batch {
  readonly events: LedgerEvent[]
  readonly entries: EntryRow[]
  readonly owners: Set<string>
  readonly requests: RequestRow[]
  readonly storedResponses: StoredResponseRow[]
}

const emptyBatch = (): Batch => ({
  events: [],
  entries: [],
  owners: new Set(),
  requests: [],
  storedResponses: [],
})

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

export class CommitQueue {
  readonly latency = new CommitLatency()
  readonly state: LedgerState
  readonly #sink: CommitSink
  readonly #listener: CommitListener
  readonly #now: () => number
  #batch = emptyBatch()
  #next: number
  #durable: number
  #checkpointAt: number
  #isWriting = false
  #isScheduled = false
  #linger: NodeJS.Timeout | null = null
  #isAdmitting = true

  /** Callers of `whenDurable`. */
  #waiting: CommitWaiter[] = []

  constructor(state: LedgerState, io: CommitIo, lastCommit: number) {
    this.state = state
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

  /** The last commit that is not empty, written or not: it or an earlier one contains all previous decisions. */
  get newest(): number {
    return this.#isEmpty ? this.#next - 1 : this.#next
  }

  get isAdmitting(): boolean {
    return this.#isAdmitting
  }

  /** Adds an event that has been applied, with the owners it touched. `account`: the owner of the hold. */
  addEvent(event: LedgerEvent, owners: readonly string[], account: string): void {
    this.#batch.events.push(event)
    for (const owner of owners) this.#batch.owners.add(owner)
    for (const row of entryRowsOf(event, account)) this.#batch.entries.push(row)
    this.#linger ??= setTimeout(() => this.#flushSoon(), lingerMs)
  }

  /** Adds a request's row to the commit that ends its hold. */
  addRequest(row: RequestRow): void {
    this.#batch.requests.push(row)
    this.#linger ??= setTimeout(() => this.#flushSoon(), lingerMs)
  }

  /** The rows that wait for the next commit. */
  get queuedRequests(): number {
    return this.#batch.requests.length
  }

  /** Adds the response of a request, for its repetitions, to the commit that ends its hold. */
  protected addResponseRow(row: StoredResponseRow): void {
    this.#batch.storedResponses.push(row)
  }

  /** A caller waits for this commit. */
  requestFlush(commit: number): void {
    if (commit >= this.#next) this.#flushSoon()
  }

  /** Resolves when a commit is on disk; rejects if the store does not accept commits. */
  whenDurable(commit: number): Promise<void> {
    if (commit <= this.#durable) return Promise.resolve()
    if (!this.#isAdmitting) return Promise.reject(apiError('service_unavailable'))
    this.requestFlush(commit)
    const waiter = { commit, ...Promise.withResolvers<void>() }
    this.#waiting.push(waiter)
    return waiter.promise
  }

  #resolveWaiters(): void {
    if (this.#waiting.length === 0) return
    const { written = [], later = [] } = Object.groupBy(this.#waiting, ({ commit }) =>
      commit <= this.#durable ? 'written' : 'later',
    )
    this.#waiting = later
    for (const { resolve } of written) resolve()
  }

  /** Writes at the end of this turn of the event loop, so that the commit includes all events of the turn. */
  #flushSoon(): void {
    if (this.#linger) clearTimeout(this.#linger)
    this.#linger = null
    if (this.#isScheduled || this.#isWriting) {
      this.#isScheduled = true
      return
    }
    this.#isScheduled = true
    if (this.state.holds.size >= busyHolds) setTimeout(() => void this.#write(), batchDelayMs)
    else setImmediate(() => void this.#write())
  }

  #takeBatch(): LedgerCommit {
    const { events, entries, owners, requests, storedResponses } = this.#batch
    this.#batch = emptyBatch()
    const seq = this.#next
    this.#next += 1
    const rows: OwnerRow[] = []
    for (const id of owners) {
      const owner = this.state.owners.get(id)
      if (owner) rows.push(ownerRow(id, owner))
    }
    const journal = encodeEvents(events)
    const commit: LedgerCommit = {
      seq,
      at: this.#now(),
      journal,
      entries,
      owners: rows,
      requests,
      storedResponses,
    }
    if (seq - this.#checkpointAt < checkpointEveryCommits) return commit
    this.#checkpointAt = seq
    return { ...commit, checkpoint: { holds: encodeHolds(this.state) } }
  }

  get #isEmpty(): boolean {
    return this.#batch.events.length === 0 && this.#batch.requests.length === 0
  }

  async #write(): Promise<void> {
    this.#isScheduled = false
    if (this.#isWriting || this.#isEmpty) return
    this.#isWriting = true
    const commit = this.#takeBatch()
    const isWritten = await this.#persist(commit)
    this.#isWriting = false
    if (!isWritten) return
    this.#durable = commit.seq
    this.#resolveWaiters()
    this.#listener.onDurable(commit.seq)
    if (this.#isScheduled) {
      this.#isScheduled = false
      this.#flushSoon()
    }
  }

  /** Writes one commit, with retries while the disk is full; false if the disk has failed permanently. */
  async #persist(commit: LedgerCommit): Promise<boolean> {
    for (;;) {
      try {
        await this.latency.time(() => this.#sink.commit(commit))
        this.#setAdmitting(true, '')
        return true
      } catch (error) {
        const why = errorMessage(error)
        this.#setAdmitting(false, why)
        if (!(error instanceof StoreError) || error.class !== 'full') {
          this.#listener.onFailure(why)
          return false
        }
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  #setAdmitting(isOpen: boolean, why: string): void {
    if (this.#isAdmitting === isOpen) return
    this.#isAdmitting = isOpen
    if (!isOpen) for (const { reject } of this.#waiting.splice(0)) reject(apiError('service_unavailable'))
    this.#listener.onAdmissionChange(isOpen, why)
  }

  /** Resolves when all added events are on disk. */
  async drain(): Promise<void> {
    while (this.#isWriting || !this.#isEmpty) {
      this.#flushSoon()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
