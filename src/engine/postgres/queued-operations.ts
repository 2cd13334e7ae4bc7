/**
 * The operations that a node of a cluster queues until the rows they touch are loaded and locked. They carry everything
 * that they need, because they may be applied more than once before a transaction is committed.
 */
import type { RequestRow } from '../../db/ledger-commit.ts'
import type { Operation, OperationKind, Results } from '../../ledger/transaction.ts'
import type { HoldOperation } from '../../ledger/operations.ts'

/** An operation of one of the kinds, with a reply to its result. */
export type Replied<Kind extends OperationKind> = {
  readonly [K in Kind]: Operation<K> & { readonly reply: (result: Results[K]) => void }
}[Kind]

/** The caller is rejected while the database is unavailable: its reply is then `null`. */
interface Rejectable<Kind extends OperationKind> {
  readonly reply: (result: Results[Kind] | null) => void
  isAbandoned: boolean
}

/** If it is granted after its caller was rejected, it is released. */
export interface QueuedHold extends Omit<Operation<'hold'>, 'hold'>, Rejectable<'hold'> {
  /** Gets the database's time if this node's clock is wrong. */
  hold: HoldOperation
  /** The account's time zone, of which the hold has the present periods. */
  readonly timezone: string
}

export type QueuedExtend = Replied<'extend'>

export interface QueuedSettle extends Replied<'settle'> {
  /** Saved on this node's disk and replied to. The database gets it when it is available again. */
  isSavedLocally: boolean
}

export interface QueuedExpire extends Replied<'expire'> {
  /** The owners of the hold, if it belongs to another node. */
  readonly owners: readonly string[] | null
  /** The hold's node may still settle it; the cost beyond the last mark is then overrun. */
  readonly isRetired: boolean
}

/** If it is entered after its caller was rejected, a repetition finds it `known`. */
export interface QueuedCredit extends Operation<'credit'>, Rejectable<'credit'> {}

export interface QueuedTrialEnd extends Operation<'trial'>, Rejectable<'trial'> {}

/** A request that was rejected before it had a hold. */
export interface QueuedRequestRow {
  readonly kind: 'row'
  readonly row: RequestRow
}

export type QueuedOperation =
  | QueuedHold
  | QueuedExtend
  | QueuedSettle
  | QueuedExpire
  | QueuedCredit
  | QueuedTrialEnd
  | QueuedRequestRow

/** Replies that the database is unavailable. */
export function abandon(operation: QueuedHold | QueuedCredit | QueuedTrialEnd): void {
  if (operation.isAbandoned) return
  operation.isAbandoned = true
  operation.reply(null)
}

/** Whether it is a settlement that this node's disk has. */
export function isSavedSettlement(operation: QueuedOperation): operation is QueuedSettle {
  return operation.kind === 'settle' && operation.isSavedLocally
}

/** Whether somebody still waits for the operation. */
export function isStillWanted(operation: QueuedOperation): boolean {
  return !('isAbandoned' in operation) || !operation.isAbandoned
}
