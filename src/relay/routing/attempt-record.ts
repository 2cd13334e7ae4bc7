/** One upstream tried, as the automation contract shows it. */
export interface AttemptRecord {
  /** Its id. */
  readonly upstream: string
  outcome: 'ok' | 'failed' | 'aborted'
  readonly http_status: number | null
  duration_ms: number
  /** What it costs us, decimal; `null` when unknown. */
  cost: string | null
  /** Its provider claimed more usage than the model can hold, and was believed up to that. */
  clamped?: true
  /** Of the web, where it did any. */
  searches?: number
}
