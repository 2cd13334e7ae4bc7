/**
 * What the engine needs of a store. That of a single relay decides at once, and what it decided is durable with a commit;
 * that of a cluster node decides in its next batch, and returns promises of what is durable.
 */
import type { Denial } from '../ledger/caps.ts'
import type { LedgerState, Owner } from '../ledger/state.ts'
import type {
  ClaimConflict,
  CreditingKind,
  Operation,
  OperationKind,
  Results,
} from '../ledger/transaction.ts'

/** The result of an operation: now, or, if it has to wait, a promise of it. `null`: the store is unavailable. */
export type Decided<Result> = Result | Promise<Result | null>

export interface LedgerStore {
  /** The open holds of this node. */
  readonly state: LedgerState
  readonly isAdmitting: boolean
  /** The last commit that is on disk. */
  readonly durable: number
  /** The commit that contains everything decided so far, or an earlier one does; 0: results are durable. */
  readonly newest: number
  /** A caller waits for this commit. */
  requestFlush(commit: number): void
  /** Why a request is certainly denied, as far as it is known before the rate limits count it; `null`: nothing is known. */
  check(operation: Operation<'hold'>): Denial | ClaimConflict | 'unavailable' | null
  decide<Kind extends OperationKind>(operation: Operation<Kind> & Operation): Decided<Results[Kind]>
  mark(operation: Operation<'mark'>): Decided<undefined>
  /** Loads the credits that it may have entered before. Resolves when the result is durable. */
  enterCredit<Kind extends CreditingKind>(
    operation: Operation<Kind> & Operation,
  ): Promise<Results[Kind] | null>
  /** Whether nodes of an earlier release run, which cannot read that a credit ends the restrictions of an overrun. */
  keepsOverruns(): Promise<boolean>
  /** The owners as of the last decision. */
  readOwners(ids: readonly string[]): Promise<readonly Owner[]>
  /** By account, of those with open holds on any node: the balance less what is held. */
  availableUnderHolds(): Promise<ReadonlyMap<string, bigint>>
}
