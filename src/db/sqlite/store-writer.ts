/**
 * Group commit: whatever gathered while the last commit ran becomes one transaction and one fsync. A control-plane
 * batch inside it is all-or-nothing by a savepoint of its own; ledger commits keep their order without a gap.
 * Nothing is acknowledged before the transaction is durable.
 */

import { chainHeadOf, JournalWriter, type ChainHead } from '../journal.ts'
import type { Statement, StatementResult, StoreFailure, StoreRequest } from '../messages.ts'
import { dropRequestsStep } from '../drop-requests.ts'
import { dropExpiredStep } from '../kept-answers.ts'
import { unpackedCommit } from './packed-commit.ts'
import { rollUpStep } from '../rollup.ts'
import type { Connection } from './connection.ts'
import { failureOf, StoreError } from '../store-error.ts'
import { fillTokensStep } from '../../usage/rollups/token-backfill.ts'

export type Outcome = { readonly result: StatementResult[] } | { readonly failure: StoreFailure }

const done: Outcome = { result: [] }
/** Between two checkpoints of the WAL: about 4 MB at full load, so that none takes long. */
const groupsPerCheckpoint = 100

export class StoreWriter {
  readonly #connection: Connection
  readonly #journal: JournalWriter
  #head: ChainHead
  #broken: StoreFailure | undefined
  #groupsSinceCheckpoint = 0

  constructor(connection: Connection) {
    this.#connection = connection
    this.#journal = new JournalWriter(connection)
    this.#head = chainHeadOf(connection)
  }

  /** Why nothing is written any more: the disk failed once and cannot be trusted. */
  get broken(): StoreFailure | undefined {
    return this.#broken
  }

  /** Runs requests in their order in one transaction, and each alone when one of them spoils it. */
  runGroup(requests: readonly StoreRequest[]): Outcome[] {
    if (this.#broken !== undefined) return this.#refuseAll(requests, this.#broken)
    try {
      return this.#transaction(requests)
    } catch (error) {
      const failure = this.#note(failureOf(error))
      if (requests.length === 1 || this.#broken !== undefined) return this.#refuseAll(requests, failure)
      return this.#runApart(requests)
    }
  }

  /** Copies the WAL into the database file. An error here is a failed fsync as much as one of a commit. */
  checkpoint(): void {
    if (this.#broken !== undefined || this.#groupsSinceCheckpoint === 0) return
    this.#groupsSinceCheckpoint = 0
    try {
      this.#connection.run({ sql: 'pragma wal_checkpoint(passive)', parameters: [] })
    } catch (error) {
      this.#note(failureOf(error))
    }
  }

  /** Counts some request rows into the hourly roll-ups; false when there is nothing left or it cannot be written. */
  rollUp(): boolean {
    return this.#step(rollUpStep)
  }

  /** Gives an hour that was counted without its tokens what it lacks; false as above. */
  fillTokens(): boolean {
    return this.#step(fillTokensStep)
  }

  /** Deletes some kept answers that are over at this moment; false as above. */
  dropExpired(now: number): boolean {
    return this.#step((connection) => dropExpiredStep(connection, now))
  }

  /** Deletes some request rows of before this moment; how many, 0 also when it cannot be written. */
  dropRequests(before: number): number {
    let rows = 0
    const isDone = this.#step((connection) => {
      rows = dropRequestsStep(connection, before)
      return rows > 0
    })
    return isDone ? rows : 0
  }

  #step(step: (connection: Connection) => boolean): boolean {
    if (this.#broken !== undefined) return false
    try {
      this.#begin()
      const more = step(this.#connection)
      this.#exec(more ? 'commit' : 'rollback')
      if (more) this.#groupsSinceCheckpoint += 1
      return more
    } catch (error) {
      this.#undo()
      this.#note(failureOf(error))
      return false
    }
  }

  #note(failure: StoreFailure): StoreFailure {
    if (failure.class === 'failed') this.#broken ??= failure
    return failure
  }

  #refuseAll(requests: readonly StoreRequest[], failure: StoreFailure): Outcome[] {
    return requests.map(() => ({ failure }))
  }

  #runApart(requests: readonly StoreRequest[]): Outcome[] {
    let gap: StoreFailure | undefined
    return requests.map((request) => {
      const held = this.#broken ?? (request.kind === 'commit' ? gap : undefined)
      if (held !== undefined) return { failure: held }
      const outcome = this.runGroup([request])[0] ?? done
      // What follows a commit that was not written would leave a gap in the chain: it fails alike.
      if (request.kind === 'commit' && 'failure' in outcome) gap = outcome.failure
      return outcome
    })
  }

  #transaction(requests: readonly StoreRequest[]): Outcome[] {
    let head = this.#head
    try {
      this.#begin()
      const outcomes: Outcome[] = []
      for (const request of requests) {
        if (request.kind === 'commit') {
          head = this.#journal.write(unpackedCommit(request.commit), head)
          outcomes.push(done)
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
      this.#undo()
      throw error
    }
  }

  #writeBatch(statements: readonly Statement[]): Outcome {
    this.#exec('savepoint batch')
    const result: StatementResult[] = []
    try {
      for (const statement of statements) result.push(this.#runExpecting(statement))
      this.#exec('release batch')
      return { result }
    } catch (error) {
      const failure = failureOf(error, result.length)
      // A full or failing disk has already undone the whole transaction: everyone in it has to hear.
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
      const message = `A statement changed ${result.changes} rows where ${expected} were expected.`
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

  #undo(): void {
    if (!this.#connection.database.isTransaction) return
    try {
      this.#exec('rollback')
    } catch (error) {
      this.#note({ ...failureOf(error), class: 'failed' })
    }
  }
}
