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

/** Whether a finished run has compared this day. */
export async function wasCompared(db: Db, method: MethodName, day: string): Promise<boolean> {
  const row = await db.first(
    sql
      .selectFrom('payment_runs')
      .select('id')
      .where('method', '=', method)
      .where('state', '=', 'done')
      .where('from_day', '<=', day)
      .where('to_day', '>=', day)
      .limit(1),
  )
  return row !== undefined
}

/** Newest first. */
export async function listRuns(db: Db, limit: number): Promise<PaymentRun[]> {
  const query = sql.selectFrom('payment_runs').selectAll().orderBy('started_at', 'desc').limit(limit)
  return (await db.all(query)).map(fieldsOf)
}
