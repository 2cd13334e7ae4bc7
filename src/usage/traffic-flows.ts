/**
 * Traffic flows: requests grouped from key over model to upstream. Read from the newest rows of a time span,
 * up to a limit, so that a busy relay takes no longer than a quiet one.
 */
import type { Db } from '../db/db.ts'
import { joinSum, splitSumSql } from '../db/money-sums.ts'
import { failureCountSql } from '../db/request-outcomes.ts'

export interface TrafficFlow {
  readonly account: string
  readonly key: string
  /** Empty: the requested model does not exist. */
  readonly model: string
  /** null: no upstream was called. */
  readonly upstream: string | null
  readonly requests: number
  readonly failures: number
  readonly costNanos: bigint
}

export interface TrafficFlows {
  /** Milliseconds since the epoch: the start of the requested span, or the time of the oldest row counted. */
  readonly from: number
  readonly requests: number
  readonly isComplete: boolean
  /** By descending number of requests. */
  readonly flows: readonly TrafficFlow[]
}

export interface TrafficFlowFilter {
  readonly from: number
  readonly to: number
  /** Unknown model names are combined into one. */
  readonly isModel: (id: string) => boolean
}

const maxRows = 20_000
const maxFlows = 200

interface Row {
  account_id: string
  key_id: string
  model: string
  upstream: string
  rows_read: number
  requests: number
  failures: number
  cost_units: number
  cost_rest_nanos: bigint
  first_at: number
}

function flowKey(flow: TrafficFlow): string {
  return JSON.stringify([flow.key, flow.model, flow.upstream])
}

function mergeFlows(left: TrafficFlow | undefined, right: TrafficFlow): TrafficFlow {
  if (left === undefined) return right
  return {
    ...left,
    requests: left.requests + right.requests,
    failures: left.failures + right.failures,
    costNanos: left.costNanos + right.costNanos,
  }
}

export async function loadTrafficFlows(
  db: Db,
  { from, to, isModel }: TrafficFlowFilter,
): Promise<TrafficFlows> {
  const rows = await db.report<Row>({
    sql: `select account_id, key_id, model, upstream, count(*) as rows_read, sum(count) as requests,
        sum(${failureCountSql}) as failures,
        ${splitSumSql('cost_nanos', 'cost')}, min(at) as first_at
      from (select account_id, key_id, model, coalesce(upstream_id, fault_upstream, '') as upstream, outcome,
          cost_nanos, at, count
        from requests where at >= ? and at < ? order by at desc limit ${maxRows}) as newest
      group by account_id, key_id, model, upstream`,
    parameters: [from, to],
  })
  const flows = new Map<string, TrafficFlow>()
  for (const row of rows) {
    const flow: TrafficFlow = {
      account: row.account_id,
      key: row.key_id,
      model: isModel(row.model) ? row.model : '',
      upstream: row.upstream === '' ? null : row.upstream,
      requests: row.requests,
      failures: row.failures,
      costNanos: joinSum(row.cost_units, row.cost_rest_nanos),
    }
    flows.set(flowKey(flow), mergeFlows(flows.get(flowKey(flow)), flow))
  }
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const isComplete = rows.reduce((sum, row) => sum + row.rows_read, 0) < maxRows
  return {
    from: isComplete ? from : Math.min(...rows.map((row) => row.first_at)),
    requests,
    isComplete,
    flows: [...flows.values()].toSorted((left, right) => right.requests - left.requests).slice(0, maxFlows),
  }
}
