/**
 * Unusual use of a key: an hour that cost more than five times the 95th percentile of the hours in which the key was
 * used during the seven days before. Read from the roll-ups, a few hundred rows for each key.
 */
import type { Db } from '../db/db.ts'
import { largestFirst, nanosOfSum, reaching, splitSum } from '../db/money-sums.ts'

export interface UnusualHour {
  /** The start of the hour. */
  readonly hour: number
  readonly costNanos: bigint
  /** The 95th percentile that it was held against. */
  readonly usualNanos: bigint
}

const hourMs = 3_600_000
const daysBefore = 7
const timesUsual = 5n
/** A key that was hardly used has no usual. */
const leastHours = 12
/** A hundredth: less is nothing to worry about, whatever was usual. */
const leastNanos = 10_000_000n

export interface HourCost {
  readonly hour: number
  readonly costNanos: bigint
}

/** The unusual one among `hours` (of one key, any order) that begin at `since` or later: the last of them. */
export function unusualAmong(hours: readonly HourCost[], since: number): UnusualHour | null {
  const before = hours.filter(({ hour }) => hour < since).map(({ costNanos }) => costNanos)
  if (before.length < leastHours) return null
  const sorted = before.toSorted((left, right) => (left < right ? -1 : Number(left > right)))
  const usualNanos = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0n
  const found = hours
    .filter(
      ({ hour, costNanos }) =>
        hour >= since && costNanos > usualNanos * timesUsual && costNanos >= leastNanos,
    )
    .toSorted((left, right) => right.hour - left.hour)[0]
  return found === undefined ? null : { ...found, usualNanos }
}

/** By key, its unusual hour since a moment; keys without one are not in it. */
export async function unusualHours(
  db: Db,
  keyIds: readonly string[],
  since: number,
): Promise<Map<string, UnusualHour>> {
  const first = since - daysBefore * 24 * hourMs
  const rows = await db.report<{
    key_id: string
    hour: number
    cost_yuan: number
    cost_rest_nanos: bigint
  }>({
    sql: `select key_id, hour, ${splitSum('cost_nanos', 'cost')} from usage_hourly
      where key_id in (${keyIds.map(() => '?').join(', ') || 'null'}) and hour >= ? group by key_id, hour`,
    parameters: [...keyIds, first],
  })
  const byKey = Map.groupBy(rows, (row) => row.key_id)
  const found = new Map<string, UnusualHour>()
  for (const [key, own] of byKey) {
    const hours = own.map((row) => ({
      hour: row.hour,
      costNanos: nanosOfSum(row.cost_yuan, row.cost_rest_nanos),
    }))
    const unusual = unusualAmong(hours, since)
    if (unusual !== null) found.set(key, unusual)
  }
  return found
}

/** Keys that were used in the hour that begins at `hour`, dearest first, so many of them. */
export async function keysUsedIn(db: Db, hour: number, most: number): Promise<string[]> {
  const rows = await db.report<{ key_id: string }>({
    sql: `select key_id from usage_hourly where hour = ?
      group by key_id having ${reaching('cost_nanos')} order by ${largestFirst('cost_nanos')} limit ?`,
    parameters: [hour, leastNanos, most],
  })
  return rows.map((row) => row.key_id)
}
