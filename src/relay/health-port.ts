/** What the relay tells of upstreams, and hears about them. Every worker has one; the authority keeps what is behind it. */
import type { Circuit } from '../health/circuit.ts'
import type { Circuits, FaultReport } from '../health/observation.ts'

export interface HealthPort {
  /** Circuits that are not closed, by their key: usually none. */
  readonly circuits: ReadonlyMap<string, Circuit>
  /** An answer was complete. `startedAt`: milliseconds since the epoch. */
  answered(circuits: Circuits, startedAt: number, latencyMs: number): void
  failed(report: FaultReport): void
  /** May one more attempt be made? The node has a budget for them. */
  mayRetry(): Promise<boolean>
  /** May this request be the probe of these circuits? Only one may. */
  mayProbe(keys: readonly string[]): Promise<boolean>
}
