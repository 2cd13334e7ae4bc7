/** When the provider of an unpaid order is asked: often at first, at its expiry, and once more an hour later. */

const seconds = 1000
const minutes = 60 * seconds
const hour = 60 * minutes
const checkAfterMs = [
  30 * seconds,
  minutes,
  2 * minutes,
  5 * minutes,
  10 * minutes,
  20 * minutes,
  40 * minutes,
]
/** Beyond the list, for orders that live for days. */
const laterEveryMs = 6 * hour
/** A slow means of payment may take this long. */
export const processingForMs = 14 * 24 * hour

interface Checked {
  readonly createdAt: number
  readonly expiresAt: number
}

/** The next check of an order that can still be paid; at the latest at its expiry. */
export function nextCheckOf({ createdAt, expiresAt }: Checked, now: number): number {
  const next = checkAfterMs.map((afterMs) => createdAt + afterMs).find((at) => at > now) ?? now + laterEveryMs
  return next > expiresAt && expiresAt > now ? expiresAt : next
}

/** After the end of an order: a payment at the last moment is found then. null: it was the last one. */
export function lastCheckOf({ expiresAt }: Pick<Checked, 'expiresAt'>, now: number): number | null {
  const at = expiresAt + hour
  return at > now ? at : null
}

/** After a read that gave no response: the same intervals, counted from now. */
export function retryCheckAt(checks: number, now: number): number {
  return now + (checkAfterMs[Math.min(checks, checkAfterMs.length - 1)] ?? hour)
}
