/** Rates into the platform's currency: dated rows that an operator sets. No live feed decides about money. */
import { auditStatement } from '../db/audit.ts'
import { expectChanges, type Db } from '../db/db.ts'
import { columnsOf, fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type PaymentRatesTable } from '../db/schema/schema.ts'
import { isUniqueViolation } from '../db/store-error.ts'
import { apiError } from '../errors.ts'

/** `ratePpm`: millionths of the platform's currency per unit of this one. */
export type PaymentRate = Omit<RowFields<PaymentRatesTable>, 'createdAt'>

export const rateStates = ['scheduled', 'current', 'past'] as const

export interface DatedRate extends PaymentRate {
  readonly state: (typeof rateStates)[number]
}

/** The rate in force. The platform's own currency has rate 1. undefined: nobody has set one. */
export async function rateAt(
  db: Db,
  currency: string,
  platformCurrency: string,
  at: number,
): Promise<number | undefined> {
  if (currency === platformCurrency) return 1_000_000
  const row = await db.first(
    sql
      .selectFrom('payment_rates')
      .select('rate_ppm')
      .where('currency', '=', currency)
      .where('effective_from', '<=', at)
      .orderBy('effective_from', 'desc')
      .limit(1),
  )
  return row?.rate_ppm
}

/** Throws `conflict` if there is a rate from the same time on. */
export async function addRate(db: Db, rate: PaymentRate, by: string): Promise<DatedRate | undefined> {
  const row = rowOf<PaymentRatesTable>({ ...rate, createdAt: Date.now() })
  try {
    await db.write(
      expectChanges(sql.insertInto('payment_rates').values(row), 1),
      auditStatement(by, 'payment-rate.create', rate.currency, columnsOf<PaymentRatesTable>(rate)),
    )
  } catch (error) {
    if (!isUniqueViolation(error, 'payment_rates.currency')) throw error
    const message = 'This currency already has a rate from this time on.'
    throw apiError('conflict', { param: 'effective_from', message })
  }
  const { currency, effectiveFrom } = rate
  const rates = await listRates(db, Date.now())
  return rates.find((each) => each.currency === currency && each.effectiveFrom === effectiveFrom)
}

/** Newest first, with their states at a time. */
export async function listRates(db: Db, at: number): Promise<DatedRate[]> {
  const query = sql
    .selectFrom('payment_rates')
    .selectAll()
    .orderBy('effective_from', 'desc')
    .orderBy('currency')
  const begun = new Set<string>()
  return (await db.all(query)).map((row) => {
    if (row.effective_from > at) return { ...fieldsOf(row), state: 'scheduled' }
    const state = begun.has(row.currency) ? 'past' : 'current'
    begun.add(row.currency)
    return { ...fieldsOf(row), state }
  })
}
