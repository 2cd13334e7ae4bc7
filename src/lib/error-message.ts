/** The code of what was thrown, such as `ENOENT`, where it has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What was thrown, in words. A name with several addresses fails with an error for each, and no words of its own. */
export function errorWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(errorWords).join('; ')
  return error.message
}
