/**
 * Spend anomalies of keys: an hour that cost more than five times the 95th percentile of the hours in which
 * the key was used during the previous seven days. Computed from the roll-ups, a few hundred rows per key.
 */
import type { Db } from '../db/db.ts'
import { largestSumFirstSql, joinSum, sumAtLeastSql, splitSumSql } from '../db/money-sums.ts'

export interface SpendAnomaly {
  /** The start of the hour. */
  readonly hour: number
  readonly costNanos: bigint
  /** The 95th percentile that it was compared with. */
  readonly baselineNanos: bigint
}

const hourMs = 3_600_000
const baselineDays = 7
const anomalyFactor = 5n
/** A key needs this many hours of use to have a baseline. */
const minHours = 12
/** A hundredth of the platform's currency. Cheaper hours are never reported. */
const minAnomalyNanos = 10_000_000n

export interface HourCost {
  readonly hour: number
  readonly costNanos: bigint
}

/** The last anomaly among the `hours` of one key (in any order) that begin at `since` or later. */
export function detectAnomaly(hours: readonly HourCost[], since: number): SpendAnomaly | null {
  const before = hours.filter(({ hour }) => hour < since).map(({ costNanos }) => costNanos)
  if (before.length < minHours) return null
  const sorted = before.toSorted((left, right) => (left < right ? -1 : Number(left > right)))
  const baselineNanos = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0n
  const found = hours
    .filter(
      ({ hour, costNanos }) =>
        hour >= since && costNanos > baselineNanos * anomalyFactor && costNanos >= minAnomalyNanos,
    )
    .toSorted((left, right) => right.hour - left.hour)[0]
  return found === undefined ? null : { ...found, baselineNanos }
}

/** Anomalies since a given time, by key id. Keys without one are absent. */
export async function findSpendAnomalies(
  db: Db,
  keyIds: readonly string[],
  since: number,
): Promise<Map<string, SpendAnomaly>> {
  const first = since - baselineDays * 24 * hourMs
  const rows = await db.report<{
    key_id: string
    hour: number
    cost_units: number
    cost_rest_nanos: bigint
  }>({
    sql: `select key_id, hour, ${splitSumSql('cost_nanos', 'cost')} from usage_hourly
      where key_id in (${keyIds.map(() => '?').join(', ') || 'null'}) and hour >= ? group by key_id, hour`,
    parameters: [...keyIds, first],
  })
  const byKey = Map.groupBy(rows, (row) => row.key_id)
  const found = new Map<string, SpendAnomaly>()
  for (const [key, own] of byKey) {
    const hours = own.map((row) => ({
      hour: row.hour,
      costNanos: joinSum(row.cost_units, row.cost_rest_nanos),
    }))
    const anomaly = detectAnomaly(hours, since)
    if (anomaly !== null) found.set(key, anomaly)
  }
  return found
}

/** Keys used in the hour that begins at `hour`, by descending cost, at most `limit`. */
export async function keysUsedInHour(db: Db, hour: number, limit: number): Promise<string[]> {
  const rows = await db.report<{ key_id: string }>({
    sql: `select key_id from usage_hourly where hour = ?
      group by key_id having ${sumAtLeastSql('cost_nanos')} order by ${largestSumFirstSql('cost_nanos')} limit ?`,
    parameters: [hour, minAnomalyNanos, limit],
  })
  return rows.map((row) => row.key_id)
}
