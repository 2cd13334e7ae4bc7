/**
 * The ways that requests take: from a key over a model to the upstream where they end. Read from the newest rows of a
 * time and no more than so many of them, so that it takes no longer on a busy relay than on a quiet one.
 */
import type { Db } from '../db/db.ts'
import { nanosOfSum, splitSum } from '../db/money-sums.ts'

export interface Way {
  readonly account: string
  readonly key: string
  /** Empty: none that there is. */
  readonly model: string
  /** null: none was asked. */
  readonly upstream: string | null
  readonly requests: number
  readonly failures: number
  readonly costNanos: bigint
}

export interface WaysTaken {
  /** Milliseconds since the epoch: of the time that was asked for, or of the oldest row that was counted. */
  readonly from: number
  readonly requests: number
  readonly isComplete: boolean
  /** Busiest first. */
  readonly ways: readonly Way[]
}

export interface WaysAsked {
  readonly from: number
  readonly to: number
  /** Names that callers invented are one. */
  readonly isModel: (id: string) => boolean
}

const rowsMost = 20_000
const waysMost = 200

interface Row {
  account_id: string
  key_id: string
  model: string
  upstream: string
  requests: number
  failures: number
  cost_yuan: number
  cost_rest_nanos: bigint
  first_at: number
}

function nameOf(way: Way): string {
  return JSON.stringify([way.key, way.model, way.upstream])
}

function added(left: Way | undefined, right: Way): Way {
  if (left === undefined) return right
  return {
    ...left,
    requests: left.requests + right.requests,
    failures: left.failures + right.failures,
    costNanos: left.costNanos + right.costNanos,
  }
}

export async function waysTaken(db: Db, { from, to, isModel }: WaysAsked): Promise<WaysTaken> {
  const rows = await db.report<Row>({
    sql: `select account_id, key_id, model, upstream, count(*) as requests,
        sum(case when outcome in ('refused', 'failed', 'truncated', 'ended') then 1 else 0 end) as failures,
        ${splitSum('cost_nanos', 'cost')}, min(at) as first_at
      from (select account_id, key_id, model, coalesce(upstream_id, fault_upstream, '') as upstream, outcome,
          cost_nanos, at
        from requests where at >= ? and at < ? order by at desc limit ${rowsMost}) as newest
      group by account_id, key_id, model, upstream`,
    parameters: [from, to],
  })
  const ways = new Map<string, Way>()
  for (const row of rows) {
    const way: Way = {
      account: row.account_id,
      key: row.key_id,
      model: isModel(row.model) ? row.model : '',
      upstream: row.upstream === '' ? null : row.upstream,
      requests: row.requests,
      failures: row.failures,
      costNanos: nanosOfSum(row.cost_yuan, row.cost_rest_nanos),
    }
    ways.set(nameOf(way), added(ways.get(nameOf(way)), way))
  }
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const isComplete = requests < rowsMost
  return {
    from: isComplete ? from : Math.min(...rows.map((row) => row.first_at)),
    requests,
    isComplete,
    ways: [...ways.values()].toSorted((left, right) => right.requests - left.requests).slice(0, waysMost),
  }
}
