/** `/dashboard`: revenue, cost, traffic and what needs attention. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import { joinSum, splitSumSql } from '../../../db/money-sums.ts'
import { successRate, sumByModelSince, sumCounts } from '../../../health/availability.ts'
import { formatAmount } from '../../../lib/money.ts'
import { sumAll, trafficBy, type UsageGroup, type UsageSums } from '../../../usage/reports.ts'
import { countRequestsSince } from '../../../usage/traffic.ts'
import { money, time } from '../../api/json-schemas.ts'
import {
  dayStartOf,
  dayStartsBetween,
  bucketByStart,
  hourStartsBetween,
  hourMs,
  monthStartOf,
} from '../../api/time-buckets.ts'
import { last24HoursStart, spanStart } from '../../api/time-spans.ts'
import { publicUrlOf } from '../../public-urls.ts'
import { marginFields, serializeMargin } from '../traffic/margins.ts'
import { formatTime } from '../../api/json-values.ts'
import { attentionFields, readAttention } from './attention.ts'

const minuteMs = 60_000

const revenueSums = z.object({
  requests: z.int(),
  errors: z.int(),
  revenue: money,
  ...marginFields,
})
export const dashboard = z.object({
  currency: z.string(),
  /** The time zone of the days and months. */
  timezone: z.string(),
  today: revenueSums,
  month: revenueSums,
  /** Average over the last minute. */
  requests_per_second: z.number(),
  /** Success rate over the last hour, without errors of callers; null: no requests. */
  success: z.number().nullable(),
  /** Over the hours in `hours`. */
  success_24_hours: z.number().nullable(),
  hours: z.array(revenueSums.extend({ time })),
  days: z.array(revenueSums.extend({ time })),
  models: z.array(revenueSums.extend({ model: z.string() })),
  accounts: z.object({ all: z.int(), suspended: z.int(), balances: money }),
  ...attentionFields,
  /** The address in links that the relay sends: PUBLIC_URL, otherwise the one that the listening address suggests. */
  link_url: z.string(),
  steps: z.object({
    has_upstream: z.boolean(),
    has_model: z.boolean(),
    has_account: z.boolean(),
    has_request: z.boolean(),
  }),
})
export type Dashboard = z.infer<typeof dashboard>

function serializeRevenue(sums: UsageSums) {
  const { requests, errors, costNanos: revenueNanos } = sums
  return { requests, errors, revenue: formatAmount(revenueNanos), ...serializeMargin(revenueNanos, sums) }
}

/** One point for each start, so that a chart has no gaps. */
function bucketRevenue(starts: readonly number[], hours: readonly UsageGroup[]) {
  return bucketByStart(starts, hours).map((within, index) => ({
    time: formatTime(starts[index] ?? 0),
    ...serializeRevenue(sumAll(within)),
  }))
}

async function readRevenue({ db, config }: AppContext, now: number) {
  const { timezone } = config
  const firstDay = spanStart('30d', timezone, now)
  const from = Math.min(firstDay, monthStartOf(timezone, now))
  const hours = await trafficBy(db, 'hour', { from, to: now + hourMs })
  const since = (start: number): UsageSums => sumAll(hours.filter(({ name }) => Number(name) >= start))
  return {
    today: serializeRevenue(since(dayStartOf(timezone, now))),
    month: serializeRevenue(since(monthStartOf(timezone, now))),
    hours: bucketRevenue(hourStartsBetween(last24HoursStart(now), now + 1), hours),
    days: bucketRevenue(dayStartsBetween(timezone, firstDay, now + 1), hours),
    isEmpty: hours.length === 0,
  }
}

async function sumAccounts({ db }: AppContext) {
  const [accounts] = await db.report<{ all: number; suspended: number }>({
    sql: `select count(*) as "all", coalesce(sum(case when status = 'suspended' then 1 else 0 end), 0) as suspended
      from accounts`,
    parameters: [],
  })
  // The sum of all balances may exceed 64 bits of nanos.
  const [owners] = await db.report<{ sum_units: number; sum_rest_nanos: bigint }>({
    sql: `select ${splitSumSql('balance_nanos', 'sum')} from owners where id like 'a:%'`,
    parameters: [],
  })
  return {
    all: accounts?.all ?? 0,
    suspended: accounts?.suspended ?? 0,
    balances: formatAmount(joinSum(owners?.sum_units ?? 0, owners?.sum_rest_nanos ?? 0n)),
  }
}

async function readDashboard(ctx: AppContext): Promise<Dashboard> {
  const { db, catalog, config } = ctx
  const { timezone } = config
  const now = Date.now()
  const [revenue, models, accounts, attention, recentRequests, lastHour, last24Hours] = await Promise.all([
    readRevenue(ctx, now),
    trafficBy(db, 'model', { from: monthStartOf(timezone, now), to: now + hourMs }),
    sumAccounts(ctx),
    readAttention(ctx),
    countRequestsSince(db, now - minuteMs),
    sumByModelSince(db, now - hourMs),
    sumByModelSince(db, last24HoursStart(now)),
  ])
  const { isEmpty, ...sums } = revenue
  return {
    currency: ctx.currency,
    timezone,
    ...sums,
    requests_per_second: Math.round((recentRequests / 60) * 100) / 100,
    success: successRate(sumCounts(lastHour.values())),
    success_24_hours: successRate(sumCounts(last24Hours.values())),
    models: models
      .toSorted((left, right) => Number(right.costNanos - left.costNanos))
      .map((row) => ({ model: row.name, ...serializeRevenue(row) })),
    accounts,
    ...attention,
    link_url: publicUrlOf(config),
    steps: {
      has_upstream: catalog.upstreams().length > 0,
      has_model: catalog.listed().length > 0,
      has_account: accounts.all > 0,
      has_request: !isEmpty,
    },
  }
}

export const dashboardEndpoints = [
  admin.get('/dashboard', {
    summary: 'Get the dashboard: revenue, cost, traffic and what needs attention',
    response: dashboard,
    returns: 'The dashboard.',
    handle: ({ ctx }) => readDashboard(ctx),
  }),
]
