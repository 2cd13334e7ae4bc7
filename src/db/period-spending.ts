/** What an owner of the ledger spent in a period, from the request rows that still exist. */
import { joinSum, splitSumSql } from './money-sums.ts'
import type { Parameter, Statement } from './statement.ts'

export interface PeriodSpending {
  /** Nanos. */
  readonly spent: bigint
  /** Requests that were admitted. */
  readonly requests: number
}

export interface PeriodSpendingRow {
  readonly spent_units: number
  readonly spent_rest_nanos: bigint
  readonly requests: number
}

/** The condition on the rows of an owner: `a:<account>`, `k:<key>` or `m:<account>:<model>`. */
function ownerCondition(owner: string): readonly [sql: string, ...parameters: Parameter[]] {
  const id = owner.slice(2)
  if (owner.startsWith('a:')) return ['account_id = ?', id]
  if (owner.startsWith('k:')) return ['key_id = ?', id]
  const colon = id.indexOf(':')
  return ['account_id = ? and model = ?', id.slice(0, colon), id.slice(colon + 1)]
}

/** A request counts in the period of its admission. `from` is included, `to` is not. */
export function periodSpendingQuery(owner: string, from: number, to: number): Statement {
  const [condition, ...parameters] = ownerCondition(owner)
  return {
    sql: `select ${splitSumSql('cost_nanos', 'spent')},
      coalesce(sum(case when outcome = 'refused' then 0 else 1 end), 0) as requests
      from requests where ${condition} and at >= ? and at < ?`,
    parameters: [...parameters, from, to],
  }
}

/** The first request of each day (of UTC) that was admitted in the time. */
export function admittedDaysQuery(owner: string, from: number, to: number): Statement {
  const [condition, ...parameters] = ownerCondition(owner)
  return {
    sql: `select min(at) as at from requests
      where ${condition} and at >= ? and at < ? and outcome <> 'refused' group by at / 86400000`,
    parameters: [...parameters, from, to],
  }
}

export function toPeriodSpending(row: PeriodSpendingRow | undefined): PeriodSpending {
  if (row === undefined) return { spent: 0n, requests: 0 }
  return { spent: joinSum(row.spent_units, BigInt(row.spent_rest_nanos)), requests: Number(row.requests) }
}
