/** The code of an error, such as `ENOENT`, if it has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The message of a thrown value. A name with several addresses fails with an AggregateError that has no message itself. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message === '' && error instanceof AggregateError)
    return error.errors.map(errorMessage).join('; ')
  return error.message
}
