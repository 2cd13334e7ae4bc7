/** What the ledger of a node needs, what it reports, and the batch that it sends to be committed. */
import type { Db } from '../../db/db.ts'
import type { NodeChainHead } from '../../db/postgres/lock-batch.ts'
import type { StreamMark } from './batch-needs.ts'
import type { Batch } from './batch.ts'
import type { CapsOf } from './late-charges.ts'
import type { NodeJournal } from './node-journal.ts'
import type { QueuedOperation } from './queued-operations.ts'

export interface SharedLedgerDeps {
  readonly url: string
  readonly node: string
  readonly epoch: number
  readonly now: () => number
  /** Other connections than that of the batches. */
  readonly db: Pick<Db, 'all' | 'report' | 'write'>
  /** Settlements that the database does not have, on this node's own disk. */
  readonly journal: Pick<NodeJournal, 'saveSettlement' | 'remove'>
  readonly listener: SharedLedgerListener
  /** The caps of late bills now; absent: they are not charged. */
  readonly capsOf?: CapsOf
  /** How long callers wait when the database has just become unavailable. Default 5 s. */
  readonly outageTimeoutMs?: number
}

export interface SharedLedgerListener {
  onAdmissionChange(isOpen: boolean, why: string): void
  /** The node was retired, another process runs under its name, or the database lost confirmed commits. */
  onFenced(why: string): void
  /** The content of the database violates an invariant: nothing more may be decided. */
  onBroken(error: unknown): void
  /** What an owner spent in a period cannot be read. Called once until it can. */
  onReopeningFailed(why: string): void
}

/** A batch that was sent to be committed. */
export interface CommitAttempt {
  readonly operations: readonly QueuedOperation[]
  readonly batch: Batch
  readonly head: NodeChainHead
  readonly marks: ReadonlyMap<string, StreamMark>
}
