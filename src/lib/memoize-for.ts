/** Memoizes the result of `load` for `ms` milliseconds; concurrent calls share one load. */
export function memoizeFor<Result>(ms: number, load: () => Promise<Result>): () => Promise<Result> {
  let pending: Promise<Result> | null = null
  const clear = (): undefined => {
    pending = null
  }
  return () => {
    if (pending !== null) return pending
    pending = load()
    // A failure is not cached: it reaches only the callers that are already waiting.
    pending.then(() => setTimeout(clear, ms).unref(), clear)
    return pending
  }
}
