/** Hours, and calendar days and months of a time zone, as buckets for sums and charts. */
import { dayEndOf, longestDayMs, longestMonthMs, monthEndOf } from '../../ledger/periods.ts'

/** The start of the local day that contains `at`. */
export function dayStartOf(timezone: string, at: number): number {
  let start = dayEndOf(timezone, at - longestDayMs)
  for (let next = dayEndOf(timezone, start); next <= at; next = dayEndOf(timezone, start)) start = next
  return start
}

/** The start of the local month that contains `at`. */
export function monthStartOf(timezone: string, at: number): number {
  let start = monthEndOf(timezone, at - longestMonthMs)
  for (let next = monthEndOf(timezone, start); next <= at; next = monthEndOf(timezone, start)) start = next
  return start
}

/** The starts of the local days from the one that contains `from` to the last that starts before `to`. */
export function dayStartsBetween(timezone: string, from: number, to: number): number[] {
  const starts: number[] = []
  for (let start = dayStartOf(timezone, from); start < to; start = dayEndOf(timezone, start))
    starts.push(start)
  return starts
}

export const hourMs = 3_600_000

/** The starts of the hours from the one that contains `from` to the last that starts before `to`. */
export function hourStartsBetween(from: number, to: number): number[] {
  const first = Math.floor(from / hourMs) * hourMs
  return Array.from(
    { length: Math.max(0, Math.ceil((to - first) / hourMs)) },
    (_, index) => first + index * hourMs,
  )
}

/**
 * Groups hourly rows (`name` is the start of the hour) by these starts, both in ascending order; rows before the first
 * start are dropped. If midnight in the time zone splits an hour, the hour counts in the day in which it starts.
 */
export function bucketByStart<Row extends { readonly name: string }>(
  starts: readonly number[],
  rows: readonly Row[],
): Row[][] {
  const buckets: Row[][] = starts.map(() => [])
  let at = 0
  for (const row of rows) {
    const hour = Number(row.name)
    if (hour < (starts[0] ?? Infinity)) continue
    while ((starts[at + 1] ?? Infinity) <= hour) at += 1
    buckets[at]?.push(row)
  }
  return buckets
}
