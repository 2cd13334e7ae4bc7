/** The results of an operator's test calls to an upstream. */

export interface TestCallResult {
  readonly ok: boolean
  readonly status: number | null
  readonly durationMs: number
  /** For operators; contains no secrets. */
  readonly message: string
}

/** The models that an upstream lists. */
export interface UpstreamModels extends Omit<TestCallResult, 'durationMs'> {
  /** In alphabetical order. */
  readonly models: readonly string[]
}
