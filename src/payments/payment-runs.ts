/** Runs of the reconciliation: one method, a span of days, and what was found. */
import type { Compilable } from 'kysely'
import type { Db } from '../db/db.ts'
import { columnsOf, fieldsOf, type RowFields } from '../db/row-fields.ts'
import { sql, type PaymentRunsTable } from '../db/schema/schema.ts'
import type { MethodName } from './payment-method.ts'

export interface PaymentRun extends Omit<
  RowFields<PaymentRunsTable>,
  'method' | 'paymentsMinor' | 'refundsMinor' | 'feesMinor'
> {
  readonly method: MethodName
  readonly paymentsMinor: bigint
  readonly refundsMinor: bigint
  readonly feesMinor: bigint
}

function runOf(row: PaymentRunsTable): PaymentRun {
  return {
    ...fieldsOf(row),
    method: row.method as MethodName,
    paymentsMinor: BigInt(row.payments_minor),
    refundsMinor: BigInt(row.refunds_minor),
    feesMinor: BigInt(row.fees_minor),
  }
}

export function insertRun(run: PaymentRun): Compilable {
  const minors = {
    paymentsMinor: Number(run.paymentsMinor),
    refundsMinor: Number(run.refundsMinor),
    feesMinor: Number(run.feesMinor),
  }
  return sql
    .insertInto('payment_runs')
    .values(columnsOf<PaymentRunsTable>({ ...run, ...minors }) as PaymentRunsTable)
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
  return (await db.all(query)).map(runOf)
}
