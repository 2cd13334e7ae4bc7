/** One attempt, as the admin API shows it. */
export interface AttemptRecord {
  /** The upstream's id. */
  readonly upstream: string
  outcome: 'ok' | 'failed' | 'aborted'
  readonly http_status: number | null
  duration_ms: number
  /** What it costs us, as a decimal; `null` if unknown. */
  cost: string | null
  /** The provider reported more usage than the request asked for, or than the model can have. */
  clamped?: true
  /** Number of web searches, if any. */
  searches?: number
  /** The caller's response has the upstream's name for the model; absent if it is the name that the caller sent. */
  model_exposed?: true
  /** Why it failed, by `failureMessage`. */
  error?: string
  /** The id under which the upstream knows a failed call. */
  upstream_request_id?: string
}
