/**
 * The operations that a node of a cluster queues until the rows they touch are loaded and locked. They carry everything
 * that they need, because they may be applied more than once before a transaction is committed.
 */
import type { RequestRow } from '../../db/ledger-commit.ts'
import type { CreditingKind, Operation, OperationKind, Results } from '../../ledger/transaction.ts'

/** The row of a request that was rejected before it had a hold. */
interface RowOperation {
  readonly kind: 'row'
  readonly row: RequestRow
}

export interface QueuedOperation {
  /** A hold gets the database's time if this node's clock is wrong. */
  operation: Operation | RowOperation
  /** `null`: the caller was rejected, because the database is unavailable. May be called again with the result. */
  reply(result: Results[OperationKind] | null): void
  /** The caller was rejected. If a hold is granted nevertheless, it is released; a repeated credit is found `known`. */
  isAbandoned: boolean
  /** A settlement that is on this node's disk, and was replied to. The database gets it when it is available again. */
  isSavedLocally: boolean
  /**
   * The owners of a hold of a retired node, which may still settle it; the cost beyond the last mark is then overrun.
   * `null`: the hold is this node's own.
   */
  readonly retiredOwners: readonly string[] | null
}

export function queued(
  operation: QueuedOperation['operation'],
  reply: QueuedOperation['reply'],
  retiredOwners: readonly string[] | null = null,
): QueuedOperation {
  return { operation, reply, isAbandoned: false, isSavedLocally: false, retiredOwners }
}

/** Whether the operation enters credits. */
export function isCrediting(operation: QueuedOperation['operation']): operation is Operation<CreditingKind> {
  const { kind } = operation
  return kind === 'credit' || kind === 'trial' || kind === 'takeBack'
}

/** Whether the caller is rejected while the database is unavailable. Other operations wait until it is available. */
export function canBeRejected({ operation }: QueuedOperation): boolean {
  return operation.kind === 'hold' || isCrediting(operation)
}

/** Replies that the database is unavailable. */
export function abandon(queuedOperation: QueuedOperation): void {
  if (queuedOperation.isAbandoned) return
  queuedOperation.isAbandoned = true
  queuedOperation.reply(null)
}

/** The requests whose settlements are on this node's disk. */
export function savedSettlements(operations: readonly QueuedOperation[]): string[] {
  return operations.flatMap(({ operation, isSavedLocally }) =>
    isSavedLocally && operation.kind === 'settle' ? operation.request.id : [],
  )
}
