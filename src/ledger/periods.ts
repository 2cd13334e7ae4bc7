/**
 * Calendar days and months in a time zone: when does the period that contains an instant end? Daylight-saving
 * days have 23 or 25 hours, and local midnight may not exist, so the end is found by querying the zone's
 * calendar instead of adding hours.
 */

/** A day and a month of an account's time zone, identified by their ends. */
export interface PeriodEnds {
  readonly dayEnd: number
  readonly monthEnd: number
}

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
/** Upper bounds for the length of a local day and a local month. */
export const longestDayMs: number = 2 * dayMs
export const longestMonthMs: number = 33 * dayMs
/** More than the length of any local day or month of our time: a period that ends later has not begun. */
export const maxOpenDayMs: number = 26 * hourMs
export const maxOpenMonthMs: number = 31 * dayMs + 2 * hourMs

/** The local date of an instant, such as `2026-11-21`. */
export function dateOf(timezone: string, at: number): string {
  return calendarOf(timezone).format(at)
}

/** The instant next to `outside`, seen from `at`, at which `nameOf` is that of `at`. Exact to the millisecond. */
function lastWithin(nameOf: (at: number) => string, at: number, outside: number): number {
  const name = nameOf(at)
  let [inside, beyond] = [at, outside]
  while (Math.abs(beyond - inside) > 1) {
    const middle = Math.floor((inside + beyond) / 2)
    if (nameOf(middle) === name) inside = middle
    else beyond = middle
  }
  return inside
}

/** When the local day that contains `at` began. */
export function dayStartOf(timezone: string, at: number): number {
  return lastWithin((each) => dateOf(timezone, each), at, at - longestDayMs)
}

/** When the local day with this date, such as `2026-11-21`, begins. */
export function startOfDate(timezone: string, date: string): number {
  const at = Date.parse(date)
  return dayStartOf(timezone, dateOf(timezone, at) === date ? at : at + dayMs)
}

/** When the local month that contains `at` began. */
export function monthStartOf(timezone: string, at: number): number {
  return lastWithin((each) => dateOf(timezone, each).slice(0, 7), at, at - longestMonthMs)
}

/** Cached results by zone and date: a page needs those of a whole month, and computing one is slow. */
const dayEndCache = new Map<string, number>()
const maxCachedDayEnds = 5000

/** When the local day that contains `at` ends, in milliseconds since the epoch. */
export function dayEndOf(timezone: string, at: number): number {
  const day = `${timezone} ${dateOf(timezone, at)}`
  const cached = dayEndCache.get(day)
  // A clock that is set back across midnight shows the same date twice, with two different ends.
  if (cached !== undefined && cached > at && cached - at < longestDayMs) return cached
  const end = lastWithin((each) => dateOf(timezone, each), at, at + longestDayMs) + 1
  if (dayEndCache.size >= maxCachedDayEnds) dayEndCache.clear()
  dayEndCache.set(day, end)
  return end
}

/** When the local month that contains `at` ends, in milliseconds since the epoch. */
export function monthEndOf(timezone: string, at: number): number {
  return lastWithin((each) => dateOf(timezone, each).slice(0, 7), at, at + longestMonthMs) + 1
}
