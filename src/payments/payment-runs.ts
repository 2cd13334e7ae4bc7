/** Runs of the reconciliation: one method, a span of days, and what was found. */
import type { Compilable } from 'kysely'
import type { Db } from '../db/db.ts'
import { fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type PaymentRunsTable } from '../db/schema/schema.ts'
import type { MethodName } from './payment-method.ts'

export type PaymentRun = RowFields<PaymentRunsTable>

export function insertRun(run: PaymentRun): Compilable {
  return sql.insertInto('payment_runs').values(rowOf<PaymentRunsTable>(run))
}

/** Finished runs of a method that compared this day or a later one. */
export async function doneRunsSince(db: Db, method: MethodName, day: string): Promise<PaymentRun[]> {
  const query = sql.selectFrom('payment_runs').selectAll().where('method', '=', method)
  return (await db.all(query.where('state', '=', 'done').where('to_day', '>=', day))).map(fieldsOf)
}

export interface LastRuns {
  /** Whatever became of it. */
  readonly last: PaymentRun | undefined
  readonly lastDone: PaymentRun | undefined
}

export async function lastRunsOf(db: Db, method: MethodName): Promise<LastRuns> {
  const runs = sql.selectFrom('payment_runs').selectAll().where('method', '=', method)
  const newest = runs.orderBy('started_at', 'desc').orderBy('id', 'desc').limit(1)
  const [last, lastDone] = await Promise.all([db.first(newest), db.first(newest.where('state', '=', 'done'))])
  return { last: last && fieldsOf(last), lastDone: lastDone && fieldsOf(lastDone) }
}

/** Newest first. */
export async function listRuns(db: Db, limit: number): Promise<PaymentRun[]> {
  const query = sql.selectFrom('payment_runs').selectAll().orderBy('started_at', 'desc').limit(limit)
  return (await db.all(query)).map(fieldsOf)
}
