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

interface Resolution {
  readonly by: string
  readonly action: string
  readonly reason: string | null
}

/**
 * If the same difference is listed already, only its order and account are added, if they were not known and it is open.
 * With a resolution, it is listed as resolved.
 */
export function insertDifference(
  found: Found,
  state: 'open' | 'repaired' | Resolution,
  now: number,
): Compilable {
  const resolution = typeof state === 'string' ? null : state
  const row = rowOf<PaymentDifferencesTable>({
    id: newId('dif'),
    ...found,
    state: typeof state === 'string' ? state : 'resolved',
    foundAt: now,
    resolvedAt: resolution && now,
    resolvedBy: resolution?.by ?? null,
    action: resolution?.action ?? null,
    reason: resolution?.reason ?? null,
  })
  return sql
    .insertInto('payment_differences')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['method', 'merchant', 'kind', 'reference'])
        .doUpdateSet({ order_id: row.order_id, account_id: row.account_id })
        .where('payment_differences.order_id', 'is', null)
        .where('payment_differences.state', '=', 'open'),
    )
}

export async function differenceById(db: Db, id: string): Promise<Difference | undefined> {
  const row = await db.first(sql.selectFrom('payment_differences').selectAll().where('id', '=', id))
  return row && fieldsOf(row)
}

type DifferenceKey = Pick<Difference, 'method' | 'merchant' | 'kind' | 'reference'>

/** Of a genuine payment that no order has taken. */
export function surplusKey({
  transactionId,
  ...rest
}: Pick<Difference, 'method' | 'merchant'> & { readonly transactionId: string }): DifferenceKey {
  return { ...rest, kind: 'surplus', reference: transactionId }
}

/** The one that is listed about this, open or not. */
export async function listedDifference(
  db: Db,
  { method, merchant, kind, reference }: DifferenceKey,
): Promise<Difference | undefined> {
  const query = sql
    .selectFrom('payment_differences')
    .selectAll()
    .where('method', '=', method)
    .where('merchant', '=', merchant)
    .where('kind', '=', kind)
    .where('reference', '=', reference)
  const row = await db.first(query)
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
export function resolveDifference(id: string, { by, action, reason }: Resolution, at: number): Compilable {
  return sql
    .updateTable('payment_differences')
    .set({ state: 'resolved', resolved_at: at, resolved_by: by, action, reason })
    .where('id', '=', id)
    .where('state', '=', 'open')
}
