/** The format of docs/performance.json. */

export interface RelayFigures {
  readonly name: string
  readonly title: string
  /** Processor time per unit, in microseconds. Missing for the upstream itself, which is not measured. */
  readonly micros?: number
  readonly lowestMicros?: number
  readonly highestMicros?: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Relative to the base of the load. */
  readonly ratio?: number
  /** Latency added to the median of the upstream, in milliseconds. */
  readonly addedMs?: number
  /** Why the figures do not count. */
  readonly invalid?: string
}

export interface LoadFigures {
  readonly title: string
  readonly unit: 'request' | 'chunk'
  readonly relays: readonly RelayFigures[]
}

export interface BenchResults {
  /** `2026-11-22`. */
  readonly date: string
  readonly machine: string
  readonly loads: readonly LoadFigures[]
}
