/**
 * The ledger of a node of a cluster: operations queue while a batch is in flight, and the next batch takes them all.
 * A batch is one transaction; callers get their replies once it is committed. During an outage of the database nothing
 * is admitted (database-outage.ts), and settlements are saved on this node's own disk.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { RequestRow } from '../../db/ledger-commit.ts'
import { isConnectionLost } from '../../db/postgres/errors.ts'
import { lockBatch } from '../../db/postgres/lock-batch.ts'
import { writeBatch } from '../../db/postgres/write-batch.ts'
import { emptyState, type LedgerState } from '../../ledger/state.ts'
import type { Operation, OperationKind, Results } from '../../ledger/transaction.ts'
import { DatabaseOutage } from './database-outage.ts'
import { joinBatch, batchNeeds } from './batch-needs.ts'
import { Batch } from './batch.ts'
import { ChainHead } from './chain-head.ts'
import { lateCapsFor } from './late-charges.ts'
import { FencedError, isDuplicateRequestRow, isLedgerBug } from './ledger-errors.ts'
import { ReopeningReader } from './read-reopenings.ts'
import { KnownOwners } from './shared-rows.ts'
import type { CommitAttempt, SharedLedgerDeps } from './shared-ledger-deps.ts'
import { NodeHolds } from './node-holds.ts'
import { abandon, canBeRejected, queued, savedSettlements } from './queued-operations.ts'
import type { QueuedOperation } from './queued-operations.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { CommitLatency } from '../commit-latency.ts'

/** Bounds how long the rows of a batch are locked. */
const maxOperations = 1000
const retryMs = 200
const uploadMarksEveryMs = 1000

export class SharedLedger {
  /** This node's open holds, and the owners as it last saw them. */
  readonly state: LedgerState = emptyState()
  readonly latency = new CommitLatency()
  /** Gets the marks of streams once they are on this node's disk, and uploads them with the next batch. */
  readonly holds: NodeHolds = new NodeHolds(this.state.holds)
  readonly #deps: SharedLedgerDeps
  #owners = new KnownOwners()
  readonly #markTimer: NodeJS.Timeout
  readonly #outage: DatabaseOutage
  #epoch: number
  #queue: QueuedOperation[] = []
  #client: Client | null = null
  readonly #chain = new ChainHead()
  readonly #reopenings: ReopeningReader
  /** The operations of the batch in flight. */
  #inFlight: readonly QueuedOperation[] = []
  /** A batch that may or may not have been committed: the connection was lost while it was sent. */
  #inDoubt: CommitAttempt | null = null
  #areMarksDue = false
  /** The row of a request existed already. Until the queue is empty, other rows may exist as well. */
  #areRequestsKnown = false
  #isRunning = false
  #isStopped = false

  constructor(deps: SharedLedgerDeps) {
    this.#deps = deps
    this.#epoch = deps.epoch
    this.#reopenings = new ReopeningReader(deps, (hold) => void this.#enqueue(hold))
    this.#outage = new DatabaseOutage(
      {
        onUnavailable: (why) => this.#rejectWaiting(why),
        onAvailable: () => deps.listener.onAdmissionChange(true, ''),
      },
      deps.outageTimeoutMs,
    )
    this.#markTimer = setInterval(() => {
      if (this.holds.hasMarks) this.retryNow()
    }, uploadMarksEveryMs)
  }

  /** The number of this node's last durable commit. */
  get durable(): number {
    return this.#chain.head.number
  }

  get isAdmitting(): boolean {
    return !this.#outage.isTimedOut && !this.#isStopped
  }

  /**
   * Resolves when the result is durable; with `null` if the database is unavailable. `retiredOwners`: those of the hold of
   * a retired node.
   */
  decide<Kind extends OperationKind>(
    operation: Operation<Kind> & Operation,
    retiredOwners: readonly string[] | null = null,
  ): Promise<Results[Kind] | null> {
    const { promise, resolve } = Promise.withResolvers<Results[Kind] | null>()
    this.#enqueue(queued(operation, (result: Results[Kind] | null) => resolve(result), retiredOwners))
    return promise
  }

  /** False: the database is unavailable, and too many rows wait. */
  addRequest(row: RequestRow): boolean {
    return this.#enqueue(queued({ kind: 'row', row }, () => undefined))
  }

  /** False: the operation was rejected. */
  #enqueue(operation: QueuedOperation): boolean {
    if (this.#outage.rejectIfUnavailable(operation, this.#queue.length)) return false
    if (this.#outage.isUnavailable) this.#deps.journal.saveSettlement(operation, this.state.holds)
    this.#queue.push(operation)
    this.#schedule()
    return true
  }

  /** Another part could not reach the database: runs a batch, even an empty one, to find out whether it is available. */
  retryNow(): void {
    this.#areMarksDue = true
    this.#schedule()
  }

  /** Continues in a new epoch, in which earlier holds no longer belong to this node. Resolves when it has begun. */
  async rejoin(epoch: number): Promise<void> {
    // A batch of the old epoch may still be in flight: its result is no part of the new one.
    await this.#stop()
    this.#endEpoch()
    this.#epoch = epoch
    this.#chain.reset()
    this.holds.endEpoch()
    this.#isStopped = false
    this.#schedule()
  }

  /** Resolves when all queued operations are in the database; rejects if the database is unavailable. */
  async drain(): Promise<void> {
    while (this.#queue.length > 0 || this.#isRunning) {
      if (this.#outage.isUnavailable) throw new Error('The database is unavailable.')
      await delay(5)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#markTimer)
    this.#outage.close()
    await this.drain().catch(() => undefined)
    await this.#stop()
    await this.#client?.end().catch(() => undefined)
  }

  async #stop(): Promise<void> {
    this.#isStopped = true
    while (this.#isRunning) await delay(5)
  }

  #schedule(): void {
    if (this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (
      !this.#isStopped &&
      (this.#queue.length > 0 || this.#areMarksDue || this.#inDoubt || this.#outage.isUnavailable)
    ) {
      try {
        const client = (this.#client ??= await this.#connect())
        this.#outage.end((this.#queue.length > 0 || this.#areMarksDue) && (await this.#runBatch(client)))
      } catch (error) {
        await this.#onError(error)
      }
    }
    this.#areRequestsKnown = false
    this.#isRunning = false
  }

  /** Opens a connection, and finds out what became of the batch in doubt. */
  async #connect(): Promise<Client> {
    const inDoubt = this.#inDoubt
    const { client, isCommitted } = await this.#chain.connect(this.#deps, this.#epoch, inDoubt?.head)
    this.#inDoubt = null
    // It may be another server, which lacks rows that the last one had.
    this.#owners = new KnownOwners()
    if (inDoubt && isCommitted) this.#applyAttempt(inDoubt)
    else if (inDoubt) this.#requeue(inDoubt.operations)
    // Notices a lost connection even if nothing is queued.
    client.once('end', () => {
      if (this.#client !== client) return
      this.#client = null
      this.retryNow()
    })
    return client
  }

  /** Returns whether the batch committed anything. */
  async #runBatch(client: Client): Promise<boolean> {
    const operations = this.#queue.splice(0, maxOperations)
    this.#areMarksDue = false
    this.#inFlight = operations
    try {
      const attempt = await this.latency.time(() => this.#commitBatch(client, operations))
      this.#applyAttempt(attempt)
      return !attempt.batch.isEmpty
    } catch (error) {
      // A batch that was not sent to be committed, or that was rejected, is queued again.
      if (this.#inDoubt === null || !isConnectionLost(error)) {
        this.#inDoubt = null
        this.#requeue(operations)
      }
      throw error
    } finally {
      this.#inFlight = []
    }
  }

  async #commitBatch(client: Client, operations: QueuedOperation[]): Promise<CommitAttempt> {
    const { node, now } = this.#deps
    const nodeHolds = this.holds.snapshot()
    const needs = batchNeeds(operations, nodeHolds)
    await this.#owners.ensure(client, needs.owners)
    const rows = await lockBatch(client, { ...needs, node, epoch: this.#epoch })
    if (!rows.isNodeActive) throw new FencedError()
    const lateCaps = await lateCapsFor(rows, this.#deps)
    // Operations that arrived while other nodes had these rows locked need not wait for the locks again.
    this.#queue = joinBatch(operations, this.#queue, { maxOperations, owners: needs.owners, nodeHolds })
    const batch = new Batch(nodeHolds, rows, lateCaps)
    batch.run(operations, this.#reopenings.take(operations, batch.state.owners, rows))
    const written = batch.result(needs.endingHolds)
    const { head, commit } = this.#chain.next(batch.events, now())
    const attempt: CommitAttempt = { operations, batch, head, marks: nodeHolds.marks }
    if (batch.isEmpty) {
      await client.query('rollback')
      return attempt
    }
    this.#inDoubt = attempt
    const [{ seq }, areRequestsKnown] = [rows, this.#areRequestsKnown]
    await writeBatch(client, { seq, node, commit, areRequestsKnown, ...written })
    this.#inDoubt = null
    return attempt
  }

  /** The batch is committed: adopts its result and sends the replies. */
  #applyAttempt({ batch, head, marks, operations }: CommitAttempt): void {
    this.#chain.head = head
    for (const [id, owner] of batch.state.owners) this.state.owners.set(id, owner)
    const ended = this.holds.applyBatch(batch, marks)
    this.state.overrun += batch.state.overrun
    // Saved settlements are no longer needed, even those of holds that had ended before.
    this.#deps.journal.remove([...ended, ...savedSettlements(operations)])
    for (const reply of batch.replies) reply()
    for (const operation of operations) this.#releaseIfAbandoned(operation)
  }

  /** Releases a hold that was granted after its caller had been rejected. */
  #releaseIfAbandoned({ operation, isAbandoned }: QueuedOperation): void {
    if (operation.kind !== 'hold' || !isAbandoned || !this.state.holds.has(operation.hold.id)) return
    const { id, caps } = operation.hold
    void this.decide({ kind: 'expire', id, at: this.#deps.now(), caps, upstream: null })
  }

  #requeue(operations: readonly QueuedOperation[]): void {
    this.#queue = [...operations.filter(({ isAbandoned }) => !isAbandoned), ...this.#queue]
  }

  async #onError(error: unknown): Promise<void> {
    void this.#client?.end().catch(() => undefined)
    this.#client = null
    if (error instanceof FencedError) {
      this.#endEpoch()
      this.#startOutage(error.message, true)
      this.#isStopped = true
      return this.#deps.listener.onFenced(error.message)
    }
    if (isDuplicateRequestRow(error) && !this.#areRequestsKnown) return void (this.#areRequestsKnown = true)
    if (isLedgerBug(error)) {
      this.#isStopped = true
      return this.#deps.listener.onBroken(error)
    }
    this.#startOutage(errorMessage(error), false)
    await delay(retryMs)
  }

  /** What was not committed in the old epoch never will be. A hold that was committed ends with all others of the epoch. */
  #endEpoch(): void {
    for (const each of this.#inDoubt?.operations ?? []) if (each.operation.kind === 'hold') abandon(each)
    this.#requeue(this.#inDoubt?.operations ?? [])
    this.#inDoubt = null
  }

  #unanswered(): QueuedOperation[] {
    return [...(this.#inDoubt?.operations ?? this.#inFlight), ...this.#queue, ...this.#reopenings.waiting]
  }

  #startOutage(why: string, isImmediate: boolean): void {
    for (const each of this.#unanswered()) this.#deps.journal.saveSettlement(each, this.state.holds)
    this.#outage.start(why, isImmediate)
  }

  #rejectWaiting(why: string): void {
    for (const operation of this.#unanswered()) if (canBeRejected(operation)) abandon(operation)
    this.#queue = this.#queue.filter((operation) => !canBeRejected(operation))
    this.#deps.listener.onAdmissionChange(false, why)
  }
}
