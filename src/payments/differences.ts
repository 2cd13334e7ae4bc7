/** What a provider says and what is here, where they differ. Each is listed once and waits for an operator. */
import type { Compilable } from 'kysely'
import { pageOf, type Db, type Page, type PageOptions } from '../db/db.ts'
import { columnsOf, fieldsOf, type RowFields } from '../db/row-fields.ts'
import { sql, type PaymentDifferencesTable } from '../db/schema/schema.ts'
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
] as const
export type DifferenceKind = (typeof differenceKinds)[number]

export interface Difference extends Omit<
  RowFields<PaymentDifferencesTable>,
  'kind' | 'method' | 'amountMinor' | 'expectedMinor'
> {
  readonly kind: DifferenceKind
  readonly method: MethodName
  readonly amountMinor: bigint | null
  readonly expectedMinor: bigint | null
}

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

function differenceOf(row: PaymentDifferencesTable): Difference {
  const toMinor = (value: number | null): bigint | null => (value === null ? null : BigInt(value))
  return {
    ...fieldsOf(row),
    kind: row.kind as DifferenceKind,
    method: row.method as MethodName,
    amountMinor: toMinor(row.amount_minor),
    expectedMinor: toMinor(row.expected_minor),
  }
}

const toCell = (minor: bigint | null): number | null => (minor === null ? null : Number(minor))

/** If the same difference is listed already, whatever became of it, only an amount that was not known is added. */
export function insertDifference(found: Found, state: 'open' | 'repaired', now: number): Compilable {
  const row = columnsOf<PaymentDifferencesTable>({
    id: newId('dif'),
    ...found,
    amountMinor: toCell(found.amountMinor),
    expectedMinor: toCell(found.expectedMinor),
    state,
    foundAt: now,
    resolvedAt: null,
    resolvedBy: null,
    action: null,
    reason: null,
  }) as PaymentDifferencesTable
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
  return row && differenceOf(row)
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
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  if (filter.method !== undefined) query = query.where('method', '=', filter.method)
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, differenceOf)
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
