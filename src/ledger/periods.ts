/**
 * Calendar days and months in a time zone: when does the one that contains an instant end?
 * Daylight-saving days have 23 or 25 hours, and a local midnight may not exist, so the end is found by asking
 * the zone's calendar, not by adding hours.
 */

const calendars = new Map<string, Intl.DateTimeFormat>()

function calendarOf(timezone: string): Intl.DateTimeFormat {
  let calendar = calendars.get(timezone)
  if (!calendar) {
    calendar = new Intl.DateTimeFormat('en-CA', {
      timeZone: timezone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    })
    calendars.set(timezone, calendar)
  }
  return calendar
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** No local day and no local month is longer. */
export const longestDayMs: number = 2 * dayMs
export const longestMonthMs: number = 33 * dayMs

/** `2026-11-21`: the local date of an instant. */
export function dateOf(timezone: string, at: number): string {
  return calendarOf(timezone).format(at)
}

/** The first instant after `at` at which `nameOf` changes, known to be within `mostMs`. To the millisecond. */
function changeAfter(nameOf: (at: number) => string, at: number, mostMs: number): number {
  const name = nameOf(at)
  let before = at
  let after = at + mostMs
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (nameOf(middle) === name) before = middle
    else after = middle
  }
  return after
}

/** Ends that were found before, by zone and date: a page asks for those of a month, and finding one takes a while. */
const dayEnds = new Map<string, number>()
const dayEndsMost = 5000

/** When the local day that contains `at` ends, in milliseconds since the epoch. */
export function dayEndOf(timezone: string, at: number): number {
  const day = `${timezone} ${dateOf(timezone, at)}`
  const known = dayEnds.get(day)
  // A clock that is set back over midnight shows a date twice, with two ends.
  if (known !== undefined && known > at && known - at < longestDayMs) return known
  const end = changeAfter((each) => dateOf(timezone, each), at, longestDayMs)
  if (dayEnds.size >= dayEndsMost) dayEnds.clear()
  dayEnds.set(day, end)
  return end
}

/** When the local month that contains `at` ends, in milliseconds since the epoch. */
export function monthEndOf(timezone: string, at: number): number {
  return changeAfter((each) => dateOf(timezone, each).slice(0, 7), at, longestMonthMs)
}
