/** What a provider says and what is here, where they differ. Each is listed once and waits for an operator. */
import type { Compilable } from 'kysely'
import { pageOf, type Db, type Page, type PageOptions } from '../db/db.ts'
import { columnsOf, fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type DifferenceKind, type PaymentDifferencesTable } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import type { MethodName } from './payment-method.ts'

export const differenceKinds = [
  'paid_there_only',
  'paid_here_only',
  'amount',
  'refund_there_only',
  'refund_here_only',
  'unknown_order',
  'surplus',
  'dispute',
] as const satisfies readonly DifferenceKind[]

export type Difference = RowFields<PaymentDifferencesTable>

type Found = Pick<
  Difference,
  | 'kind'
  | 'method'
  | 'merchant'
  | 'reference'
  | 'orderId'
  | 'accountId'
  | 'currency'
  | 'amountMinor'
  | 'expectedMinor'
  | 'detail'
  | 'at'
>

/** If the same difference is listed already, whatever became of it, only an amount that was not known is added. */
export function insertDifference(found: Found, state: 'open' | 'repaired', now: number): Compilable {
  const row = rowOf<PaymentDifferencesTable>({
    id: newId('dif'),
    ...found,
    state,
    foundAt: now,
    resolvedAt: null,
    resolvedBy: null,
    action: null,
    reason: null,
  })
  return sql
    .insertInto('payment_differences')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['method', 'merchant', 'kind', 'reference'])
        .doUpdateSet({ amount_minor: row.amount_minor })
        .where('payment_differences.amount_minor', 'is', null)
        .where('payment_differences.state', '=', 'open'),
    )
}

export async function differenceById(db: Db, id: string): Promise<Difference | undefined> {
  const row = await db.first(sql.selectFrom('payment_differences').selectAll().where('id', '=', id))
  return row && fieldsOf(row)
}

export interface DifferenceFilter {
  readonly state?: Difference['state'] | undefined
  readonly method?: MethodName | undefined
  readonly kind?: DifferenceKind | undefined
}

/** Newest first. */
export async function listDifferences(
  db: Db,
  filter: DifferenceFilter,
  page: PageOptions,
): Promise<Page<Difference>> {
  let query = sql
    .selectFrom('payment_differences')
    .selectAll()
    .where((build) => build.and(columnsOf<PaymentDifferencesTable>(filter)))
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, fieldsOf<PaymentDifferencesTable>)
}

/** Closes an open difference; the caller expects one row. */
export function resolveDifference(
  id: string,
  resolution: { readonly by: string; readonly action: string; readonly reason: string },
  at: number,
): Compilable {
  const { by, action, reason } = resolution
  return sql
    .updateTable('payment_differences')
    .set({ state: 'resolved', resolved_at: at, resolved_by: by, action, reason })
    .where('id', '=', id)
    .where('state', '=', 'open')
}
