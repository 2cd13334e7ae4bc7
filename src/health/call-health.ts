import type { FailureScope } from './call-reports.ts'
import type { Circuit } from './circuit.ts'
import type { RecentStats } from './recent-calls.ts'

/** The health of one upstream call: its three circuits, and the recent outcomes of its upstream's model. */
export interface CallHealth {
  readonly circuits: Readonly<Record<FailureScope, Circuit>>
  readonly recent: RecentStats
  /** When recording started. */
  readonly knownSince: number
}
