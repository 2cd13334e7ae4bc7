/** Calendar days and months of an account's zone as spans of time, for sums and charts. */
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

/** The starts of the local days from the one that contains `from` to the last that begins before `to`. */
export function daysFrom(timezone: string, from: number, to: number): number[] {
  const starts: number[] = []
  for (let start = dayStartOf(timezone, from); start < to; start = dayEndOf(timezone, start))
    starts.push(start)
  return starts
}

export const hourMs = 3_600_000

/** The starts of the hours from the one that contains `from` to the last that begins before `to`. */
export function hoursFrom(from: number, to: number): number[] {
  const first = Math.floor(from / hourMs) * hourMs
  return Array.from(
    { length: Math.max(0, Math.ceil((to - first) / hourMs)) },
    (_, index) => first + index * hourMs,
  )
}

/**
 * The rows of hours (`name` is an hour's start) that begin between each of these starts and the next, both in their
 * order; those before the first are left out. Where a zone's midnight cuts an hour, that hour counts to the day in which it begins.
 */
export function hoursBetween<Row extends { readonly name: string }>(
  starts: readonly number[],
  rows: readonly Row[],
): Row[][] {
  const found: Row[][] = starts.map(() => [])
  let at = 0
  for (const row of rows) {
    const hour = Number(row.name)
    if (hour < (starts[0] ?? Infinity)) continue
    while ((starts[at + 1] ?? Infinity) <= hour) at += 1
    found[at]?.push(row)
  }
  return found
}
