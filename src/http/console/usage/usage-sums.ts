/** Sums of requests as they travel, and as points of a chart that has no holes. */
import type { Db } from '../../../db/db.ts'
import { decimalOf } from '../../../lib/money.ts'
import { usageBy, type UsageFilter, type UsageGroup, type UsageSums } from '../../../usage/reports.ts'
import { timeOf } from '../../admin/schemas.ts'
import type { Sums } from '../../api/json-schemas.ts'
import type { Point } from '../contract/usage.ts'
import { daysFrom, hoursBetween, hoursFrom } from '../../api/time-buckets.ts'

export const noSums: UsageSums = {
  requests: 0,
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  costNanos: 0n,
  upstreamCostNanos: 0n,
}

export function sumsView(sums: UsageSums): Sums {
  return {
    requests: sums.requests,
    errors: sums.errors,
    prompt_tokens: sums.promptTokens,
    completion_tokens: sums.completionTokens,
    cost: decimalOf(sums.costNanos),
  }
}

export function added(left: UsageSums, right: UsageSums): UsageSums {
  return {
    requests: left.requests + right.requests,
    errors: left.errors + right.errors,
    promptTokens: left.promptTokens + right.promptTokens,
    completionTokens: left.completionTokens + right.completionTokens,
    costNanos: left.costNanos + right.costNanos,
    upstreamCostNanos: left.upstreamCostNanos + right.upstreamCostNanos,
  }
}

export interface Span extends UsageFilter {
  readonly account: string
  readonly from: number
  readonly to: number
}

/** What comes between each of these starts and the next, in their order; the last goes on to the last hour. */
export function pointsAmong(hours: readonly UsageGroup[], starts: readonly number[]): Point[] {
  return hoursBetween(starts, hours).map((within, index) => ({
    time: timeOf(starts[index] ?? 0),
    ...sumsView(totalOf(within)),
  }))
}

export function totalOf(hours: readonly UsageSums[]): UsageSums {
  return hours.reduce(added, noSums)
}

/** Points by hour, or by day of a zone, in their order; and their sum. */
export async function pointsOf(
  db: Db,
  span: Span,
  step: { readonly by: 'hour' } | { readonly by: 'day'; readonly timezone: string },
): Promise<{ points: Point[]; total: UsageSums }> {
  const hours = await usageBy(db, 'hour', span)
  const { from, to } = span
  const starts = step.by === 'hour' ? hoursFrom(from, to) : daysFrom(step.timezone, from, to)
  return { points: pointsAmong(hours, starts), total: totalOf(hours) }
}
