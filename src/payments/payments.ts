/** Genuine payments: once per method, merchant and transaction, ever. */
import type { Compilable } from 'kysely'
import type { Db } from '../db/db.ts'
import { fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type PaymentsTable } from '../db/schema/schema.ts'
import type { MethodName } from './payment-method.ts'

export type Payment = RowFields<PaymentsTable>

/** The id of the credit in the ledger: two merchants may use the same numbers. */
export function paymentCreditId({
  method,
  merchant,
  transactionId,
}: Pick<Payment, 'method' | 'merchant' | 'transactionId'>): string {
  return `payment:${method}:${merchant}:${transactionId}`
}

export const bonusCreditId = (orderId: string): string => `bonus:${orderId}`

export function insertPayment(payment: Payment): Compilable {
  return sql.insertInto('payments').values(rowOf<PaymentsTable>(payment))
}

export async function paymentOfOrder(db: Db, orderId: string): Promise<Payment | undefined> {
  const row = await db.first(sql.selectFrom('payments').selectAll().where('order_id', '=', orderId))
  return row && fieldsOf(row)
}

export async function paymentByTransaction(
  db: Db,
  { method, merchant, transactionId }: Pick<Payment, 'method' | 'merchant' | 'transactionId'>,
): Promise<Payment | undefined> {
  const row = await db.first(
    sql
      .selectFrom('payments')
      .selectAll()
      .where('method', '=', method)
      .where('merchant', '=', merchant)
      .where('transaction_id', '=', transactionId),
  )
  return row && fieldsOf(row)
}

/** Payments with a method that were paid in a span, oldest first. */
export async function paymentsBetween(
  db: Db,
  method: MethodName,
  from: number,
  to: number,
): Promise<Payment[]> {
  const query = sql
    .selectFrom('payments')
    .selectAll()
    .where('method', '=', method)
    .where('paid_at', '>=', from)
    .where('paid_at', '<', to)
    .orderBy('paid_at')
  return (await db.report(query)).map(fieldsOf)
}
