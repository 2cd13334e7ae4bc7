/** `/dashboard` and `/failures`: how the relay does, what it earns, and why requests fail. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { nanosOfSum, splitSum } from '../../../db/money-sums.ts'
import { sql } from '../../../db/schema/schema.ts'
import { minutesOf, successOf, sumOf } from '../../../health/availability.ts'
import { listLimitRequests } from '../../../accounts/limit-requests.ts'
import { decimalOf } from '../../../lib/money.ts'
import { currency } from '../../../usage/request-records.ts'
import {
  addedTakings,
  failureGroups,
  noTakings,
  requestsSince,
  takingsBy,
  type Takings,
  type TakingsRow,
} from '../../../usage/traffic.ts'
import { dashboard, failures, type Dashboard } from '../../console/contract/operator.ts'
import { placeOfCause } from '../../api/request-failures.ts'
import {
  dayStartOf,
  daysFrom,
  hoursBetween,
  hoursFrom,
  hourMs,
  monthStartOf,
} from '../../api/time-buckets.ts'
import type { Desk } from '../desk.ts'
import { msOf, okAnswer, timeAsked, timeOf } from '../schemas.ts'

const dayMs = 24 * hourMs
const minuteMs = 60_000

const showDashboard = createRoute({
  method: 'get',
  path: '/dashboard',
  summary: 'What the relay earns and costs, how much it does, and what is amiss',
  responses: okAnswer(dashboard, 'The dashboard.'),
})
const showFailures = createRoute({
  method: 'get',
  path: '/failures',
  summary: 'Why requests fail: by cause, upstream and model, most frequent first; default: the last 24 hours',
  request: {
    query: z.strictObject({
      from: timeAsked.optional(),
      to: timeAsked.optional(),
      model: z.string().optional(),
      upstream: z.string().optional(),
    }),
  },
  responses: okAnswer(failures, 'The groups.'),
})

function takingsView(takings: Takings) {
  return {
    requests: takings.requests,
    errors: takings.errors,
    revenue: decimalOf(takings.revenueNanos),
    upstream_cost: decimalOf(takings.upstreamCostNanos),
    margin: decimalOf(takings.revenueNanos - takings.upstreamCostNanos),
  }
}

/** A point for each start, so that a chart has no holes. */
function pointsOf(starts: readonly number[], hours: readonly TakingsRow[]) {
  return hoursBetween(starts, hours).map((within, index) => ({
    time: timeOf(starts[index] ?? 0),
    ...takingsView(within.reduce<Takings>(addedTakings, noTakings)),
  }))
}

async function takingsOfMonth({ house: { db, config } }: Desk, now: number) {
  const { timezone } = config
  const starts = daysFrom(timezone, now - 29 * dayMs, now)
  const from = Math.min(now - 30 * dayMs, monthStartOf(timezone, now))
  const hours = await takingsBy(db, 'hour', { from, to: now + hourMs })
  const since = (start: number): Takings =>
    hours.filter(({ name }) => Number(name) >= start).reduce(addedTakings, noTakings)
  return {
    today: takingsView(since(dayStartOf(timezone, now))),
    month: takingsView(since(monthStartOf(timezone, now))),
    hours: pointsOf(hoursFrom(now - 23 * hourMs, now), hours),
    days: pointsOf(starts, hours),
    isEmpty: hours.length === 0,
  }
}

async function accountSums({ house: { db } }: Desk) {
  const [accounts] = await db.report<{ all: number; suspended: number }>({
    sql: `select count(*) as "all", coalesce(sum(case when status = 'suspended' then 1 else 0 end), 0) as suspended
      from accounts`,
    parameters: [],
  })
  // All together may be more than 64 bits of nanos hold.
  const [owners] = await db.report<{ sum_yuan: number; sum_rest_nanos: bigint }>({
    sql: `select ${splitSum('balance_nanos', 'sum')} from owners where id like 'a:%'`,
    parameters: [],
  })
  return {
    all: accounts?.all ?? 0,
    suspended: accounts?.suspended ?? 0,
    balances: decimalOf(nanosOfSum(owners?.sum_yuan ?? 0, owners?.sum_rest_nanos ?? 0n)),
  }
}

/** Models that callers can name and nobody can answer. */
async function unservedModels({ house: { db, catalog } }: Desk) {
  const rows = await db.all(
    sql
      .selectFrom('models')
      .select('id')
      .where('deleted_at', 'is', null)
      .where('listed', '=', 1)
      .orderBy('id'),
  )
  const routed = new Set(
    (await db.all(sql.selectFrom('routes').select('model_id').distinct())).map((row) => row.model_id),
  )
  return rows.flatMap(({ id }): Dashboard['unserved'] => {
    const model = catalog.model(id)
    if (model === undefined) return [{ model: id, missing: 'price' }]
    if (!routed.has(id)) return [{ model: id, missing: 'route' }]
    return model.routes.length === 0 ? [{ model: id, missing: 'upstream' }] : []
  })
}

async function dashboardView(desk: Desk): Promise<Dashboard> {
  const { db, catalog, config } = desk.house
  const { timezone } = config
  const now = Date.now()
  const [takings, models, accounts, unserved, lately, minutes, open] = await Promise.all([
    takingsOfMonth(desk, now),
    takingsBy(db, 'model', { from: monthStartOf(timezone, now), to: now + hourMs }),
    accountSums(desk),
    unservedModels(desk),
    requestsSince(db, now - minuteMs),
    minutesOf(db, { from: now - hourMs, to: now }),
    listLimitRequests(db, { limit: 100, status: 'open' }),
  ])
  const { isEmpty, ...sums } = takings
  return {
    currency,
    timezone,
    ...sums,
    requests_per_second: Math.round((lately / 60) * 100) / 100,
    success: successOf(sumOf(minutes)),
    models: models
      .toSorted((left, right) => Number(right.revenueNanos - left.revenueNanos))
      .map((row) => ({ model: row.name, ...takingsView(row) })),
    accounts,
    unserved,
    open_limit_requests: open.data.length,
    steps: {
      has_upstream: catalog.upstreams().length > 0,
      has_model: catalog.listed().length > 0,
      has_account: accounts.all > 0,
      has_request: !isEmpty,
    },
  }
}

export function reportRoutes(desk: Desk): OpenAPIHono {
  const { db, catalog } = desk.house
  const app = new OpenAPIHono()
  app.openapi(showDashboard, async (c) => c.json(await dashboardView(desk), 200))
  app.openapi(showFailures, async (c) => {
    const query = c.req.valid('query')
    const to = msOf(query.to) ?? Date.now()
    const from = msOf(query.from) ?? to - dayMs
    const [groups, models] = await Promise.all([
      failureGroups(db, { from, to, model: query.model, upstream: query.upstream }),
      takingsBy(db, 'model', { from: from - (from % hourMs), to }),
    ])
    const received = new Map(models.map(({ name, requests }) => [name, requests]))
    const data = groups.map((group) => ({
      ...placeOfCause(group.cause),
      upstream: group.upstreamId,
      upstream_name: catalog.upstream(group.upstreamId ?? '')?.name ?? null,
      model: group.model,
      http_status: group.httpStatus,
      count: group.count,
      share: group.count / Math.max(group.count, received.get(group.model) ?? 0),
      first_at: timeOf(group.firstAt),
      last_at: timeOf(group.lastAt),
      sample_request_id: group.sample,
    }))
    const requests = models.reduce((sum, row) => sum + row.requests, 0)
    const failed = groups.reduce((sum, { count }) => sum + count, 0)
    return c.json({ from: timeOf(from), to: timeOf(to), requests, failures: failed, data }, 200)
  })
  return app
}
