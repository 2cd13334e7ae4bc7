/** The value that `read` resolves to; undefined if it fails or takes longer than `maxMs`. */
export async function tryRead<Value>(read: () => Promise<Value>, maxMs: number): Promise<Value | undefined> {
  const timeout = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => timeout.resolve(undefined), maxMs)
  try {
    return await Promise.race([read(), timeout.promise])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
