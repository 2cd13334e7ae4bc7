/**
 * Failures of the whole relay for operators, by cause, upstream and model, read from a roll-up, which lags by at most a
 * second.
 */
import type { Db } from '../db/db.ts'
import { fieldsOf, type RowFields } from '../db/row-fields.ts'
import type { FailuresHourlyTable } from '../db/schema/tables/console.ts'
import type { Statement } from '../db/statement.ts'

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
