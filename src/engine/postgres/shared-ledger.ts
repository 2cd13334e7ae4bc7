/**
 * The ledger of a node of a cluster: operations queue while a batch is in flight, and the next batch takes them all.
 * A batch is one transaction; callers get their replies once it is committed. During an outage of the database nothing
 * is admitted (database-outage.ts), and settlements are saved on this node's own disk.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { isConnectionLost } from '../../db/postgres/errors.ts'
import { readNodeChainHead, lockBatch, openLedgerClient } from '../../db/postgres/lock-batch.ts'
import { writeBatch } from '../../db/postgres/write-batch.ts'
import { encodeEvents } from '../../ledger/journal.ts'
import { emptyState, type LedgerState } from '../../ledger/state.ts'
import { DatabaseOutage } from './database-outage.ts'
import { joinBatch, batchNeeds } from './batch-needs.ts'
import { Batch } from './batch.ts'
import { ChainHead } from './chain-head.ts'
import { FencedError, isDuplicateRequestRow, isLedgerBug } from './ledger-errors.ts'
import { ReopeningReader } from './read-reopenings.ts'
import { KnownOwners } from './shared-rows.ts'
import type { CommitAttempt, SharedLedgerDeps } from './shared-ledger-deps.ts'
import { NodeHolds } from './node-holds.ts'
import { abandon, isSavedSettlement, isStillWanted } from './queued-operations.ts'
import type { QueuedOperation, QueuedSettle } from './queued-operations.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { CommitLatency } from '../commit-latency.ts'

/** Bounds how long the rows of a batch are locked. */
const maxOperations = 1000
/** A stalled node with locked rows must not block other nodes for as long as a statement may take. */
const timeouts = { statementMs: 5000, idleInTransactionMs: 2000 }
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
    this.#reopenings = new ReopeningReader(deps, (hold) => void this.enqueue(hold))
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

  /** False: the database is unavailable, and the operation was rejected or, if it is a row, dropped. */
  enqueue(operation: QueuedOperation): boolean {
    if (this.#outage.rejectIfUnavailable(operation, this.#queue.length)) return false
    if (this.#outage.isUnavailable && operation.kind === 'settle') this.#saveLocally(operation)
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
    this.#isStopped = true
    // A batch of the old epoch may still be in flight: its result is no part of the new one.
    while (this.#isRunning) await delay(5)
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
    this.#isStopped = true
    while (this.#isRunning) await delay(5)
    await this.#client?.end().catch(() => undefined)
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
    const [{ url, node }, inDoubt] = [this.#deps, this.#inDoubt]
    const client = await openLedgerClient({ url, name: `sluice ${node} ledger`, ...timeouts })
    try {
      const head = await readNodeChainHead(client, node, this.#epoch)
      const isCommitted = this.#chain.reconcile(head, inDoubt?.head)
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
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
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
    // Operations that arrived while other nodes had these rows locked need not wait for the locks again.
    this.#queue = joinBatch(operations, this.#queue, { maxOperations, owners: needs.owners, nodeHolds })
    const batch = new Batch(nodeHolds, rows)
    batch.run(operations, this.#reopenings.take(operations, batch.state.owners, rows))
    const written = batch.result(needs.endingHolds)
    const body = batch.events.length > 0 ? encodeEvents(batch.events) : null
    const head = this.#chain.headAfter(body)
    const attempt: CommitAttempt = { operations, batch, head, marks: nodeHolds.marks }
    if (batch.isEmpty) {
      await client.query('rollback')
      return attempt
    }
    this.#inDoubt = attempt
    await writeBatch(client, {
      seq: rows.seq,
      node,
      commit: body === null ? null : { ...head, at: now(), body, prev: this.#chain.head.hash },
      areRequestsKnown: this.#areRequestsKnown,
      ...written,
    })
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
    const done = new Set([...ended, ...operations.filter(isSavedSettlement).map(({ request }) => request.id)])
    if (done.size > 0) this.#deps.removeLocal([...done])
    for (const reply of batch.replies) reply()
    for (const operation of operations) this.#releaseIfAbandoned(operation)
  }

  /** Releases a hold that was granted after its caller had been rejected. */
  #releaseIfAbandoned(operation: QueuedOperation): void {
    if (operation.kind !== 'hold' || !operation.isAbandoned || !this.state.holds.has(operation.hold.id))
      return
    const { id, caps } = operation.hold
    const [at, reply] = [this.#deps.now(), (): undefined => undefined]
    this.enqueue({ kind: 'expire', id, at, caps, owners: null, upstream: null, isRetired: false, reply })
  }

  #requeue(operations: readonly QueuedOperation[]): void {
    this.#queue = [...operations.filter(isStillWanted), ...this.#queue]
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
    for (const operation of this.#inDoubt?.operations ?? []) if (operation.kind === 'hold') abandon(operation)
    this.#requeue(this.#inDoubt?.operations ?? [])
    this.#inDoubt = null
  }

  #unanswered(): QueuedOperation[] {
    return [...(this.#inDoubt?.operations ?? this.#inFlight), ...this.#queue, ...this.#reopenings.waiting]
  }

  #startOutage(why: string, isImmediate: boolean): void {
    for (const operation of this.#unanswered()) if (operation.kind === 'settle') this.#saveLocally(operation)
    this.#outage.start(why, isImmediate)
  }

  #rejectWaiting(why: string): void {
    for (const operation of this.#unanswered()) if ('isAbandoned' in operation) abandon(operation)
    this.#queue = this.#queue.filter((operation) => !('isAbandoned' in operation))
    this.#deps.listener.onAdmissionChange(false, why)
  }

  #saveLocally(operation: QueuedSettle): void {
    if (operation.isSavedLocally) return
    operation.isSavedLocally = true
    // If this disk is full as well, the operation and its caller keep waiting.
    this.#deps.saveLocally(operation).catch(() => (operation.isSavedLocally = false))
  }
}
