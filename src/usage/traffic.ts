/**
 * Traffic of the whole relay for operators: requests and money by hour, day and model, and failures by cause,
 * upstream and model. Everything is read from roll-ups, which lag by at most a second.
 */
import type { Db } from '../db/db.ts'
import { fieldsOf, type RowFields } from '../db/row-fields.ts'
import type { FailuresHourlyTable } from '../db/schema/tables/console.ts'
import type { Statement } from '../db/statement.ts'
import { joinSum, splitSumSql } from '../db/money-sums.ts'
import { withoutCostSql } from './unknown-costs.ts'

export interface TrafficTotals {
  readonly requests: number
  readonly errors: number
  readonly revenueNanos: bigint
  /** The known costs. */
  readonly upstreamCostNanos: bigint
  /** How many requests have an unknown cost. */
  readonly requestsWithoutCost: number
}

export const noTraffic: TrafficTotals = {
  requests: 0,
  errors: 0,
  revenueNanos: 0n,
  upstreamCostNanos: 0n,
  requestsWithoutCost: 0,
}

export interface TrafficGroup extends TrafficTotals {
  /** The start of the hour as text, or the model. */
  readonly name: string
}

interface Row {
  name: string | number
  requests: number
  errors: number
  cost_yuan: number
  cost_rest_nanos: bigint
  upstream_yuan: number
  upstream_rest_nanos: bigint
  without_cost: number
}

/** Sums over a span of hours, by hour or by model. */
export async function trafficBy(
  db: Db,
  grouping: 'hour' | 'model',
  span: { readonly from: number; readonly to: number },
): Promise<TrafficGroup[]> {
  const rows = await db.report<Row>({
    sql: `select ${grouping} as name, sum(requests) as requests, sum(errors) as errors,
        ${splitSumSql('cost_nanos', 'cost')}, ${splitSumSql('upstream_cost_nanos', 'upstream')},
        sum(${withoutCostSql('traffic_hourly')}) as without_cost
      from traffic_hourly where hour >= ? and hour < ? group by ${grouping} order by 1`,
    parameters: [span.from, span.to],
  })
  return rows.map((row) => ({
    name: String(row.name),
    requests: row.requests,
    errors: row.errors,
    revenueNanos: joinSum(row.cost_yuan, row.cost_rest_nanos),
    upstreamCostNanos: joinSum(row.upstream_yuan, row.upstream_rest_nanos),
    requestsWithoutCost: row.without_cost,
  }))
}

export function addTotals(left: TrafficTotals, right: TrafficTotals): TrafficTotals {
  return {
    requests: left.requests + right.requests,
    errors: left.errors + right.errors,
    revenueNanos: left.revenueNanos + right.revenueNanos,
    upstreamCostNanos: left.upstreamCostNanos + right.upstreamCostNanos,
    requestsWithoutCost: left.requestsWithoutCost + right.requestsWithoutCost,
  }
}

interface FailureRow extends Omit<FailuresHourlyTable, 'hour' | 'requests'> {
  readonly count: number
}

export interface FailureGroup extends Omit<RowFields<FailureRow>, 'upstreamId'> {
  /** null: no upstream was called. */
  readonly upstreamId: string | null
}

export interface FailureFilter {
  readonly from: number
  readonly to: number
  readonly model?: string | undefined
  readonly upstream?: string | undefined
}

const maxGroups = 200

/** Of whole hours that start in the span. */
function failureSource({ from, to, model, upstream }: FailureFilter): Statement {
  const named = Object.entries({ model, upstream_id: upstream }).filter(
    (each): each is [string, string] => each[1] !== undefined,
  )
  const conditions = named.map(([column]) => ` and ${column} = ?`).join('')
  return {
    sql: `failures_hourly where hour >= ? and hour < ?${conditions}`,
    parameters: [from, to, ...named.map(([, value]) => value)],
  }
}

export async function countFailures(db: Db, filter: FailureFilter): Promise<number> {
  const { sql, parameters } = failureSource(filter)
  const [row] = await db.report<{ failures: number }>({
    sql: `select coalesce(sum(requests), 0) as failures from ${sql}`,
    parameters,
  })
  return row?.failures ?? 0
}

/** Most frequent first. */
export async function failureGroups(db: Db, filter: FailureFilter): Promise<FailureGroup[]> {
  const { sql, parameters } = failureSource(filter)
  const rows = await db.report<FailureRow>({
    sql: `select cause, upstream_id, model, http_status, sum(requests) as count,
        min(first_at) as first_at, max(last_at) as last_at, max(sample) as sample
      from ${sql}
      group by cause, upstream_id, model, http_status order by 5 desc, cause limit ${maxGroups}`,
    parameters,
  })
  return rows.map((row) => ({
    ...fieldsOf(row),
    upstreamId: row.upstream_id === '' ? null : row.upstream_id,
  }))
}

/** The number of requests since a given time, as far as their rows are written. */
export async function countRequestsSince(db: Db, since: number): Promise<number> {
  const [row] = await db.report<{ requests: number }>({
    sql: 'select coalesce(sum(count), 0) as requests from requests where at >= ?',
    parameters: [since],
  })
  return row?.requests ?? 0
}
