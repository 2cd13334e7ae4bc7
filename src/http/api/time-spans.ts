/**
 * The time spans of figures, defined once for all pages: each ends now and begins at a full hour or at midnight, so that a
 * tile, a chart by hour or day and a list of the same span count the same requests.
 */
import { z } from 'zod'
import { parseTime } from './json-values.ts'
import { dayStartOf, hourMs } from './time-buckets.ts'

const spanDays = { '7d': 7, '30d': 30, '90d': 90 } as const

export const spanInput = z.enum(['24h', '7d', '30d', '90d'])
export type Span = z.infer<typeof spanInput>

/** The start of the last 24 hours: of the current hour and the 23 before it. */
export function last24HoursStart(now: number): number {
  return now - (now % hourMs) - 23 * hourMs
}

/** `24h`: the last 24 hours. Others: whole days in the time zone, the last of which is today. */
export function spanStart(span: Span, timezone: string, now: number): number {
  if (span === '24h') return last24HoursStart(now)
  const today = dayStartOf(timezone, now)
  // Days have 23 to 25 hours. Half a day after a multiple of 24 hours before midnight is in the right one.
  return dayStartOf(timezone, today - (spanDays[span] - 1) * 24 * hourMs + 12 * hourMs)
}

/** The start that a query names by a span or by a time. undefined: by neither. */
export function parseFrom(
  { span, from }: { readonly span?: Span | undefined; readonly from?: string | undefined },
  timezone: string,
): number | undefined {
  return span === undefined ? parseTime(from) : spanStart(span, timezone, Date.now())
}
