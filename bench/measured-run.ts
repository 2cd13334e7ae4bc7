/** What a run has measured. */

import type { ClusterRun } from './cluster.ts'
import type { SyncTimes } from './disk-sync.ts'
import type { MeasuredLoad } from './figures.ts'
import type { LedgerFigures } from './ledger.ts'
import type { OverloadFigures } from './overload.ts'
import type { Subject } from './subjects.ts'
import type { VerificationFigures } from './verification.ts'

export interface MemoryFigures {
  readonly subject: Subject
  readonly idleMiB: number
  readonly peakMiB: number
}

export interface Run {
  date: string
  seconds: number
  rounds: number
  workers: number
  nginx: string | undefined
  sync: SyncTimes
  subjects: Subject[]
  measured: MeasuredLoad[]
  ledger: LedgerFigures[]
  verification: VerificationFigures | null
  /** Null: PostgreSQL is not installed, or the group was not selected. */
  cluster: ClusterRun | null
  overload: OverloadFigures | null
  memory: MemoryFigures[] | null
  /** All groups were measured, so that the peaks of memory are those of the entire bench. */
  isComplete: boolean
}
