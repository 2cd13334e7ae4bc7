/** Whether the threads that every request needs respond: a load balancer must not send requests to a relay that stands still. */
import { memoizeFor } from '../../lib/memoize-for.ts'
import { tryRead } from '../../lib/try-read.ts'

/** However often it is asked. */
const cacheMs = 500
const maxResponseMs = 5000

/** `asks`: one call of each thread. False if one does not respond in time, or cannot. */
export function createThreadCheck(
  asks: readonly (() => Promise<unknown>)[],
  maxMs: number = maxResponseMs,
): () => Promise<boolean> {
  const askAll = async (): Promise<boolean> => {
    await Promise.all(asks.map((ask) => ask()))
    return true
  }
  return memoizeFor(cacheMs, async () => (await tryRead(askAll, maxMs)) ?? false)
}
