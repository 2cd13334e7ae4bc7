/** What payments brought in a span, by method: for the operator's report by month. */
import type { Db } from '../db/db.ts'
import { joinSum, splitSumSql } from '../db/money-sums.ts'
import { sql } from '../db/schema/schema.ts'
import type { MethodName } from './payment-method.ts'

/** In minor units of the method's currency, and in nanos of the platform's. */
export interface MethodRevenue {
  readonly method: MethodName
  readonly currency: string
  readonly payments: number
  readonly amountMinor: bigint
  readonly feesMinor: bigint
  /** What went back to payers: refunds that are done, and disputes that were lost. */
  readonly returnedMinor: bigint
  readonly creditNanos: bigint
  readonly bonusNanos: bigint
}

interface PaidRow {
  readonly method: MethodName
  readonly currency: string
  readonly payments: number
  readonly amount_minor: bigint
  readonly fees_minor: bigint
  readonly credit_units: number
  readonly credit_rest_nanos: bigint
  readonly bonus_units: number
  readonly bonus_rest_nanos: bigint
}

interface ReturnedRow {
  readonly method: MethodName
  readonly currency: string
  readonly returned_minor: bigint
}

const paidSql = `select payments.method, payments.currency, count(*) as payments,
    sum(payments.amount_minor) as amount_minor, sum(payment_orders.fee_minor) as fees_minor,
    ${splitSumSql('payments.credit_nanos', 'credit')}, ${splitSumSql('payments.bonus_nanos', 'bonus')}
  from payments join payment_orders on payment_orders.id = payments.order_id
  where payments.settled_at >= ? and payments.settled_at < ?
  group by payments.method, payments.currency`

const returnsSql = (table: string, state: string): string =>
  `select payment_orders.method, payment_orders.currency, ${table}.amount_minor
  from ${table} join payment_orders on payment_orders.id = ${table}.order_id
  where ${table}.state = '${state}' and ${table}.updated_at >= ? and ${table}.updated_at < ?`

const returnedSql = `select method, currency, sum(amount_minor) as returned_minor
  from (${returnsSql('payment_refunds', 'done')} union all ${returnsSql('payment_disputes', 'lost')}) as returns
  group by method, currency`

/** Payments by when they were settled, and what went back by when it did; `to` is exclusive. Ordered by method. */
export async function revenueByMethod(db: Db, from: number, to: number): Promise<MethodRevenue[]> {
  const [paid, returned] = await Promise.all([
    db.report<PaidRow>({ sql: paidSql, parameters: [from, to] }),
    db.report<ReturnedRow>({ sql: returnedSql, parameters: [from, to, from, to] }),
  ])
  const keyOf = ({ method, currency }: Pick<PaidRow, 'method' | 'currency'>) => `${method} ${currency}`
  const paidBy = new Map(paid.map((row) => [keyOf(row), row]))
  const returnedBy = new Map(returned.map((row) => [keyOf(row), row]))
  return [...new Map<string, PaidRow | ReturnedRow>([...returnedBy, ...paidBy])]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, { method, currency }]) => {
      const sums = paidBy.get(key)
      return {
        method,
        currency,
        payments: sums?.payments ?? 0,
        amountMinor: sums?.amount_minor ?? 0n,
        feesMinor: sums?.fees_minor ?? 0n,
        returnedMinor: returnedBy.get(key)?.returned_minor ?? 0n,
        creditNanos: joinSum(sums?.credit_units ?? 0, sums?.credit_rest_nanos ?? 0n),
        bonusNanos: joinSum(sums?.bonus_units ?? 0, sums?.bonus_rest_nanos ?? 0n),
      }
    })
}

/** null: no payment was settled yet. */
export async function firstSettledAt(db: Db): Promise<number | null> {
  const query = sql.selectFrom('payments').select('settled_at').orderBy('settled_at').limit(1)
  return (await db.first(query))?.settled_at ?? null
}
