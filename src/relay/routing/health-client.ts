/** The relay's view of upstream health. Every worker has one; the main thread has the circuit breakers behind it. */
import type { Circuit } from '../../health/circuit.ts'
import type { CircuitKeys, FailureReport } from '../../health/call-reports.ts'

export interface HealthClient {
  /** Circuits that are not closed, by key. Usually there are none. */
  readonly circuits: ReadonlyMap<string, Circuit>
  /** Reports a complete response. `startedAt`: milliseconds since the epoch. */
  reportSuccess(circuits: CircuitKeys, startedAt: number, latencyMs: number): void
  reportFailure(report: FailureReport): void
  /** Takes one retry from the node's budget; false if the budget is used up. */
  acquireRetry(): Promise<boolean>
  /** Makes this request the probe of these circuits; false if another request is. */
  acquireProbe(keys: readonly string[]): Promise<boolean>
}
