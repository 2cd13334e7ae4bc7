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
