/** Sums of requests as they travel, and as points of a chart that has no holes. */
import type { Db } from '../../db/db.ts'
import { decimalOf } from '../../lib/money.ts'
import { usageBetween, usageBy, type UsageFilter, type UsageSums } from '../../usage/reports.ts'
import { timeOf } from '../admin/schemas.ts'
import type { Sums } from './contract/shapes.ts'
import type { Point } from './contract/usage.ts'
import { dateOf } from '../../ledger/periods.ts'
import { daysFrom, hoursFrom } from './time-spans.ts'

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

/** Points by hour, or by day of a zone, in their order; and their sum. */
export async function pointsOf(
  db: Db,
  span: Span,
  step: { readonly by: 'hour' } | { readonly by: 'day'; readonly timezone: string },
): Promise<{ points: Point[]; total: UsageSums }> {
  const hours = await usageBy(db, 'hour', span)
  const byHour = step.by === 'hour'
  const nameOf = (at: number): string => (byHour ? String(at) : dateOf(step.timezone, at))
  const sums = new Map<string, UsageSums>()
  for (const hour of hours) {
    const name = nameOf(Number(hour.name))
    sums.set(name, added(sums.get(name) ?? noSums, hour))
  }
  const starts = byHour ? hoursFrom(span.from, span.to) : daysFrom(step.timezone, span.from, span.to)
  const points = starts.map((start) => ({
    time: timeOf(start),
    ...sumsView(sums.get(nameOf(start)) ?? noSums),
  }))
  return { points, total: hours.reduce<UsageSums>(added, noSums) }
}

export function totalOf(db: Db, { account, from, to }: Span): Promise<UsageSums> {
  return usageBetween(db, account, from, to)
}
