/** Sums of requests in JSON, and as the points of a chart without gaps. */
import type { z } from 'zod'
import type { Db } from '../../../db/db.ts'
import { formatAmount } from '../../../lib/money.ts'
import { sumAll, usageBy, type UsageFilter, type UsageGroup, type UsageSums } from '../../../usage/reports.ts'
import { formatTime } from '../../api/json-values.ts'
import { sums, time, type Sums } from '../../api/json-schemas.ts'
import { dayStartsBetween, bucketByStart, hourStartsBetween } from '../../api/time-buckets.ts'

/** `time` is the start of the hour or day in the account's time zone. */
export const pointSchema = sums.extend({ time })
export type Point = z.infer<typeof pointSchema>

export function serializeSums(summed: UsageSums): Sums {
  return {
    requests: summed.requests,
    errors: summed.errors,
    prompt_tokens: summed.promptTokens,
    completion_tokens: summed.completionTokens,
    cost: formatAmount(summed.costNanos),
  }
}

interface UsageRange extends UsageFilter {
  readonly account: string
  readonly from: number
  readonly to: number
}

/** One point for each start, up to the next start; the last point includes all later hours. */
export function bucketPoints(hours: readonly UsageGroup[], starts: readonly number[]): Point[] {
  return bucketByStart(starts, hours).map((within, index) => ({
    time: formatTime(starts[index] ?? 0),
    ...serializeSums(sumAll(within)),
  }))
}

/** Reads points by hour, or by day in a time zone, and their total. */
export async function readPoints(
  db: Db,
  range: UsageRange,
  bucket: { readonly by: 'hour' } | { readonly by: 'day'; readonly timezone: string },
): Promise<{ points: Point[]; total: UsageSums }> {
  const hours = await usageBy(db, 'hour', range)
  const { from, to } = range
  const starts =
    bucket.by === 'hour' ? hourStartsBetween(from, to) : dayStartsBetween(bucket.timezone, from, to)
  // The range may begin within an hour, at midnight of a time zone such as India's: that part belongs to the first point.
  const inRange = hours.map((hour) => ({
    ...hour,
    name: String(Math.max(Number(hour.name), starts[0] ?? from)),
  }))
  return { points: bucketPoints(inRange, starts), total: sumAll(hours) }
}
