/**
 * The ledger of a node of a cluster: operations gather while a batch is under way, and the next batch takes them all.
 * A batch is one transaction; what it decided is told when it holds. While the database is away nothing is admitted
 * (absence.ts), and settlements are kept on this node's own disk.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { isCutOff } from '../../db/postgres/errors.ts'
import { chainHeadOfNode, lockBatch, openLedgerClient } from '../../db/postgres/ledger-rows.ts'
import { writeBatch } from '../../db/postgres/write-batch.ts'
import { encodeEvents } from '../../ledger/journal.ts'
import { emptyState, type LedgerState } from '../../ledger/state.ts'
import { Absence } from './absence.ts'
import { joinBatch, needsOf } from './batch-needs.ts'
import { Batch } from './ledger/batch.ts'
import { ChainEnd } from './chain-end.ts'
import { Fenced, isOurFault, isRequestKnown, type Attempt, type SharedLedgerParts } from './ledger-parts.ts'
import { KnownOwners } from './known-owners.ts'
import { NodeHolds } from './ledger/node-holds.ts'
import { giveUp, type SettleWork, type Work } from './work.ts'
import { errorWords } from '../../lib/error-message.ts'

/** Bounds how long the rows of a batch are locked. */
const worksMost = 1000
/** A node that stands still with rows locked must not keep others waiting for as long as a statement may take. */
const bounds = { statementMs: 5000, idleInTransactionMs: 2000 }
const retryMs = 200
/** Marks that no other batch has taken along are uploaded so often. */
const marksEveryMs = 1000

export class SharedLedger {
  /** This node's open holds, and the owners as it saw them last. */
  readonly state: LedgerState = emptyState()
  /** How far its streams have come is told here, once it is on this node's disk: uploaded with the next batch. */
  readonly own: NodeHolds = new NodeHolds(this.state.holds)
  readonly #parts: SharedLedgerParts
  #owners = new KnownOwners()
  readonly #uploading: NodeJS.Timeout
  readonly #absence: Absence
  #epoch: number
  #queue: Work[] = []
  #client: Client | null = null
  readonly #chain = new ChainEnd()
  /** What the batch under way has been asked for. */
  #underWay: readonly Work[] = []
  /** Whether it was committed is not known: the connection was lost on the way. */
  #unclear: Attempt | null = null
  #areMarksDue = false
  /** The row of a request was there already; until all is done that waits, others are expected to be. */
  #areRequestsKnown = false
  #isRunning = false
  #isStopped = false

  constructor(parts: SharedLedgerParts) {
    this.#parts = parts
    this.#epoch = parts.epoch
    this.#absence = new Absence(
      { lost: (why) => this.#sendAway(why), found: () => parts.listener.admitting(true, '') },
      parts.patienceMs,
    )
    this.#uploading = setInterval(() => {
      if (this.own.haveMarks) this.lookAgain()
    }, marksEveryMs)
  }

  /** Commits of this node that hold. */
  get durable(): number {
    return this.#chain.head.number
  }

  get admitting(): boolean {
    return !this.#absence.isLong && !this.#isStopped
  }

  add(work: Work): void {
    if (this.#absence.sendsAway(work, this.#queue.length)) return
    if (this.#absence.isNow && work.kind === 'settle') this.#keep(work)
    this.#queue.push(work)
    this.#wake()
  }

  /** Somebody else has not reached the database: a batch, though nobody asks for one, finds out whether it is away. */
  lookAgain(): void {
    this.#areMarksDue = true
    this.#wake()
  }

  /** The node goes on in another epoch, and what it held before is not its own any more. Resolves when it does. */
  async rejoin(epoch: number): Promise<void> {
    this.#isStopped = true
    // A batch of the old epoch may still be under way: what it comes to is no part of the new one.
    while (this.#isRunning) await delay(5)
    this.#leave()
    this.#epoch = epoch
    this.#chain.forget()
    this.own.leave()
    this.#isStopped = false
    this.#wake()
  }

  /** Resolves when everything that was asked for is in the database; rejects when the database is away. */
  async drained(): Promise<void> {
    while (this.#queue.length > 0 || this.#isRunning) {
      if (this.#absence.isNow) throw new Error('The database is away.')
      await delay(5)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#uploading)
    this.#absence.close()
    await this.drained().catch(() => undefined)
    this.#isStopped = true
    while (this.#isRunning) await delay(5)
    await this.#client?.end().catch(() => undefined)
  }

  #wake(): void {
    if (this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (
      !this.#isStopped &&
      (this.#queue.length > 0 || this.#areMarksDue || this.#unclear || this.#absence.isNow)
    ) {
      try {
        const client = (this.#client ??= await this.#connect())
        const hasMore = this.#queue.length > 0 || this.#areMarksDue
        this.#absence.end(hasMore && (await this.#next(client)))
      } catch (error) {
        await this.#lose(error)
      }
    }
    this.#areRequestsKnown = false
    this.#isRunning = false
  }

  /** Opens a connection, and finds out what became of the last batch. */
  async #connect(): Promise<Client> {
    const { url, node } = this.#parts
    const client = await openLedgerClient({ url, name: `sluice ${node} ledger`, ...bounds })
    try {
      const head = await chainHeadOfNode(client, node, this.#epoch)
      const unclear = this.#unclear
      const isCommitted = this.#chain.found(head, unclear?.head)
      this.#unclear = null
      // It may be another server, which lacks what the last one had.
      this.#owners = new KnownOwners()
      if (unclear && isCommitted) this.#take(unclear)
      else if (unclear) this.#putBack(unclear.works)
      // Also while nobody asks for anything.
      client.once('end', () => {
        if (this.#client !== client) return
        this.#client = null
        this.lookAgain()
      })
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  /** Whether the database has taken anything. */
  async #next(client: Client): Promise<boolean> {
    const works = this.#queue.splice(0, worksMost)
    this.#areMarksDue = false
    this.#underWay = works
    try {
      const attempt = await this.#decide(client, works)
      this.#take(attempt)
      return !attempt.batch.isEmpty
    } catch (error) {
      // A batch that was not sent to be committed, or was refused, is asked for again.
      if (this.#unclear === null || !isCutOff(error)) {
        this.#unclear = null
        this.#putBack(works)
      }
      throw error
    } finally {
      this.#underWay = []
    }
  }

  async #decide(client: Client, works: Work[]): Promise<Attempt> {
    const { node, now } = this.#parts
    const own = this.own.forBatch()
    const needs = needsOf(works, own)
    await this.#owners.make(client, needs.owners)
    const rows = await lockBatch(client, { ...needs, node, epoch: this.#epoch })
    if (!rows.isOurs) throw new Fenced()
    // Whoever has come while others had these rows need not wait for them once more.
    this.#queue = joinBatch(works, this.#queue, { most: worksMost, owners: needs.owners, own })
    const batch = new Batch(own, rows)
    batch.run(works)
    const written = batch.written(needs.ending)
    const body = batch.events.length > 0 ? encodeEvents(batch.events) : null
    const head = this.#chain.after(body)
    const attempt: Attempt = { works, batch, head, marks: own.marks }
    if (batch.isEmpty) {
      await client.query('rollback')
      return attempt
    }
    const { number, hash } = head
    this.#unclear = attempt
    await writeBatch(client, {
      seq: rows.seq,
      node,
      commit: body === null ? null : { number, at: now(), body, prev: this.#chain.head.hash, hash },
      areRequestsKnown: this.#areRequestsKnown,
      ...written,
    })
    this.#unclear = null
    return attempt
  }

  /** The batch holds: takes over what it came to, and tells whoever waits. */
  #take({ batch, head, marks, works }: Attempt): void {
    this.#chain.head = head
    for (const [id, owner] of batch.state.owners) this.state.owners.set(id, owner)
    const gone = this.own.take(batch, marks)
    this.state.overrun += batch.state.overrun
    // A settlement that was kept here, also of a hold that had ended before, is done with.
    const kept = works.flatMap((work) => (work.kind === 'settle' && work.isKept ? [work.ask.id] : []))
    if (gone.length > 0 || kept.length > 0) this.#parts.forget([...new Set([...gone, ...kept])])
    for (const answer of batch.answers) answer()
    for (const work of works) this.#releaseGivenUp(work)
  }

  /** A hold that was granted after its caller had been sent away. */
  #releaseGivenUp(work: Work): void {
    if (work.kind !== 'hold' || !work.isGivenUp || !this.state.holds.has(work.operation.id)) return
    const { id, caps } = work.operation
    const [at, answer] = [this.#parts.now(), (): undefined => undefined]
    this.add({ kind: 'expire', id, at, caps, owners: null, upstream: null, isRetired: false, answer })
  }

  #putBack(works: readonly Work[]): void {
    const wanted = works.filter((work) => !('isGivenUp' in work) || !work.isGivenUp)
    this.#queue = [...wanted, ...this.#queue]
  }

  async #lose(error: unknown): Promise<void> {
    const client = this.#client
    this.#client = null
    void client?.end().catch(() => undefined)
    if (error instanceof Fenced) {
      this.#leave()
      this.#goAway(error.message, true)
      this.#isStopped = true
      return this.#parts.listener.fenced(error.message)
    }
    if (isRequestKnown(error) && !this.#areRequestsKnown) {
      this.#areRequestsKnown = true
      return
    }
    if (isOurFault(error)) {
      this.#isStopped = true
      return this.#parts.listener.broken(error)
    }
    this.#goAway(errorWords(error), false)
    await delay(retryMs)
  }

  /** What was not committed in the old epoch never will be; a hold that was is ended with all others of it. */
  #leave(): void {
    const works = this.#unclear?.works ?? []
    for (const work of works) if (work.kind === 'hold') giveUp(work)
    this.#putBack(works)
    this.#unclear = null
  }

  /** Everything that is not answered yet. */
  #waiting(): Work[] {
    return [...(this.#unclear?.works ?? this.#underWay), ...this.#queue]
  }

  #goAway(why: string, isForLong: boolean): void {
    for (const work of this.#waiting()) if (work.kind === 'settle') this.#keep(work)
    this.#absence.begin(why, isForLong)
  }

  #sendAway(why: string): void {
    for (const work of this.#waiting()) if ('isGivenUp' in work) giveUp(work)
    this.#queue = this.#queue.filter((work) => !('isGivenUp' in work))
    this.#parts.listener.admitting(false, why)
  }

  #keep(work: SettleWork): void {
    if (work.isKept) return
    work.isKept = true
    // A disk that is full as well: it goes on waiting, and its caller with it.
    this.#parts.keep(work).catch(() => (work.isKept = false))
  }
}
