/** What a key is pointed out for: that nobody uses it, or that it is used far more than it was. */
import type { Key } from '../../accounts/keys.ts'
import type { Db } from '../../db/db.ts'
import { unusualHours, type UnusualHour } from '../../usage/spend-anomalies.ts'
import { hourMs } from '../api/time-buckets.ts'

/** Unused for so long since its last use, or since it was made. */
export function isStale(key: Key, staleMs: number, now: number): boolean {
  return (key.lastUsedAt ?? key.createdAt) < now - staleMs
}

/** By key, an hour of the last day that was far above its usual. */
export function unusualUse(db: Db, keys: readonly Key[], now: number): Promise<Map<string, UnusualHour>> {
  const ids = keys.map(({ id }) => id)
  return unusualHours(db, ids, Math.floor(now / hourMs) * hourMs - 24 * hourMs)
}
