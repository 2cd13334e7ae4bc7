/**
 * The ledger of a single node: its whole state is in memory, so every operation is decided at once. What was decided is in
 * the commit `newest`.
 */
import type { RequestRow, StoredResponseRow } from '../../db/ledger-commit.ts'
import { decide } from '../../ledger/decide.ts'
import type { LedgerTransaction, Operation, OperationKind, Results } from '../../ledger/transaction.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import type { LedgerState } from '../../ledger/state.ts'
import type { CommitQueue } from './commit-queue.ts'
import { EndedClaims } from './ended-claims.ts'

export interface EmbeddedLedgerDeps {
  readonly state: LedgerState
  readonly commits: Pick<CommitQueue, 'add' | 'addRequest' | 'addStoredResponse' | 'newest'>
  readonly monotonicNow: () => number
}

export class EmbeddedLedger implements LedgerTransaction {
  readonly state: LedgerState
  readonly #commits: EmbeddedLedgerDeps['commits']
  readonly #endedClaims: EndedClaims

  constructor({ state, commits, monotonicNow }: EmbeddedLedgerDeps) {
    this.state = state
    this.#commits = commits
    this.#endedClaims = new EndedClaims(monotonicNow, commits.newest)
  }

  decide<Kind extends OperationKind>(operation: Operation<Kind>): Results[Kind] {
    return decide(this, operation)
  }

  storedBy(claim: string, seenCommit: number): number | null {
    return this.#endedClaims.storedBy(claim, seenCommit)
  }

  /** No hold outlives its node. */
  takeRetired(): undefined {}

  addEvent(event: LedgerEvent, owners: readonly string[], account: string): void {
    this.#commits.add(event, owners, account)
  }

  addRequest(row: RequestRow): void {
    this.#commits.addRequest(row)
  }

  addStoredResponse(row: StoredResponseRow, claim: string): void {
    this.#endedClaims.add(claim, this.#commits.addStoredResponse(row))
  }
}
