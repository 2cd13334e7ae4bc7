/**
 * Group commit: all requests that arrive while a commit runs become one transaction with one fsync. Each control-plane
 * batch in it is atomic by its own savepoint; ledger commits keep their order without gaps. Nothing is acknowledged
 * before the transaction is durable.
 */

import { readChainHead, JournalWriter } from './journal-writer.ts'
import type { ChainHead } from '../journal.ts'
import type { Statement, StatementResult } from '../statement.ts'
import type { StoreFailure } from '../store-error.ts'
import { deleteRequestsStep } from '../retention/delete-requests.ts'
import { deleteExpiredResponsesStep } from '../retention/stored-responses.ts'
import { unpackCommit, type PackedCommit } from './packed-commit.ts'
import type { Connection } from './connection.ts'
import { toStoreFailure, StoreError } from '../store-error.ts'

export type StoreRequest =
  | { readonly kind: 'write'; readonly statements: readonly Statement[] }
  | { readonly kind: 'commit'; readonly commit: PackedCommit }

export type WriteOutcome = { readonly result: StatementResult[] } | { readonly failure: StoreFailure }

/** Steps that other modules add to the maintenance of the store; each returns false if there was nothing to do. */
export interface MaintenanceSteps {
  /** Counts some request rows into the roll-ups. */
  readonly rollUp: (connection: Connection) => boolean
  /** Fills in the tokens of one hour that was counted without them. */
  readonly backfillTokens: (connection: Connection) => boolean
}

const noSteps: MaintenanceSteps = { rollUp: () => false, backfillTokens: () => false }
const succeeded: WriteOutcome = { result: [] }
/** Groups between two checkpoints of the WAL: about 4 MB at full load, so that each checkpoint is short. */
const groupsPerCheckpoint = 100

export class StoreWriter {
  readonly #connection: Connection
  readonly #maintenance: MaintenanceSteps
  readonly #journal: JournalWriter
  #head: ChainHead
  #failure: StoreFailure | undefined
  #groupsSinceCheckpoint = 0

  constructor(connection: Connection, maintenance: MaintenanceSteps = noSteps) {
    this.#connection = connection
    this.#maintenance = maintenance
    this.#journal = new JournalWriter(connection)
    this.#head = readChainHead(connection)
  }

  /** Set once the disk has failed: it cannot be trusted, so nothing is written any more. */
  get failure(): StoreFailure | undefined {
    return this.#failure
  }

  /** Runs requests in order in one transaction; if the transaction fails, runs each one alone. */
  runGroup(requests: readonly StoreRequest[]): WriteOutcome[] {
    if (this.#failure !== undefined) return this.#failAll(requests, this.#failure)
    try {
      return this.#runTransaction(requests)
    } catch (error) {
      const failure = this.#recordFailure(toStoreFailure(error))
      if (requests.length === 1 || this.#failure !== undefined) return this.#failAll(requests, failure)
      return this.#runSeparately(requests)
    }
  }

  /** Checkpoints the WAL into the database file. An error here means a failed fsync, as in a commit. */
  checkpoint(): void {
    if (this.#failure !== undefined || this.#groupsSinceCheckpoint === 0) return
    this.#groupsSinceCheckpoint = 0
    try {
      this.#connection.run({ sql: 'pragma wal_checkpoint(passive)', parameters: [] })
    } catch (error) {
      this.#recordFailure(toStoreFailure(error))
    }
  }

  /** Counts some request rows into the roll-ups; false if there are none or the write fails. */
  rollUp(): boolean {
    return this.#maintenanceStep(this.#maintenance.rollUp)
  }

  /** Fills in the tokens of one hour that was counted without them; false as above. */
  backfillTokens(): boolean {
    return this.#maintenanceStep(this.#maintenance.backfillTokens)
  }

  /** Deletes some expired stored responses; false as above. */
  deleteExpiredResponses(now: number): boolean {
    return this.#maintenanceStep((connection) => deleteExpiredResponsesStep(connection, now))
  }

  /** Deletes some request rows from before this time and returns their number; 0 if the write fails. */
  deleteRequests(before: number): number {
    let rows = 0
    const isDone = this.#maintenanceStep((connection) => {
      rows = deleteRequestsStep(connection, before)
      return rows > 0
    })
    return isDone ? rows : 0
  }

  #maintenanceStep(step: (connection: Connection) => boolean): boolean {
    if (this.#failure !== undefined) return false
    try {
      this.#begin()
      const hasMore = step(this.#connection)
      this.#exec(hasMore ? 'commit' : 'rollback')
      if (hasMore) this.#groupsSinceCheckpoint += 1
      return hasMore
    } catch (error) {
      this.#rollback()
      this.#recordFailure(toStoreFailure(error))
      return false
    }
  }

  #recordFailure(failure: StoreFailure): StoreFailure {
    if (failure.class === 'failed') this.#failure ??= failure
    return failure
  }

  #failAll(requests: readonly StoreRequest[], failure: StoreFailure): WriteOutcome[] {
    return requests.map(() => ({ failure }))
  }

  #runSeparately(requests: readonly StoreRequest[]): WriteOutcome[] {
    let precedingFailure: StoreFailure | undefined
    return requests.map((request) => {
      const earlierFailure = this.#failure ?? (request.kind === 'commit' ? precedingFailure : undefined)
      if (earlierFailure !== undefined) return { failure: earlierFailure }
      const outcome = this.runGroup([request])[0] ?? succeeded
      // A commit after a failed one would leave a gap in the chain, so it fails, too.
      if (request.kind === 'commit' && 'failure' in outcome) precedingFailure = outcome.failure
      return outcome
    })
  }

  #runTransaction(requests: readonly StoreRequest[]): WriteOutcome[] {
    let head = this.#head
    try {
      this.#begin()
      const outcomes: WriteOutcome[] = []
      for (const request of requests) {
        if (request.kind === 'commit') {
          head = this.#journal.write(unpackCommit(request.commit), head)
          outcomes.push(succeeded)
        } else {
          outcomes.push(this.#writeBatch(request.statements))
        }
      }
      this.#exec('commit')
      this.#head = head
      this.#groupsSinceCheckpoint += 1
      if (this.#groupsSinceCheckpoint >= groupsPerCheckpoint) this.checkpoint()
      return outcomes
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  #writeBatch(statements: readonly Statement[]): WriteOutcome {
    this.#exec('savepoint batch')
    const result: StatementResult[] = []
    try {
      for (const statement of statements) result.push(this.#runExpecting(statement))
      this.#exec('release batch')
      return { result }
    } catch (error) {
      const failure = toStoreFailure(error, result.length)
      // A full or failing disk has already rolled back the whole transaction, so all its requests must fail.
      if (!this.#connection.database.isTransaction || failure.class === 'failed') throw error
      this.#exec('rollback to batch')
      this.#exec('release batch')
      return { failure }
    }
  }

  #runExpecting(statement: Statement): StatementResult {
    const result = this.#connection.run(statement)
    const expected = statement.expectChanges
    if (expected !== undefined && result.changes !== expected) {
      const message = `A statement changed ${result.changes} rows instead of ${expected}.`
      throw new StoreError({ class: 'conflict', message })
    }
    return result
  }

  #begin(): void {
    this.#exec('begin immediate')
  }

  #exec(text: string): void {
    this.#connection.run({ sql: text, parameters: [] })
  }

  #rollback(): void {
    if (!this.#connection.database.isTransaction) return
    try {
      this.#exec('rollback')
    } catch (error) {
      this.#recordFailure({ ...toStoreFailure(error), class: 'failed' })
    }
  }
}
