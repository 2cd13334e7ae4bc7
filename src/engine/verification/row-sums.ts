/**
 * Sums of entries and request rows. A scrub compares them by account before it recomputes the journal: that takes a
 * fraction of the time, and finds a changed balance, entry or cost.
 */
import type { Db } from '../../db/db.ts'
import { joinSum, splitSumSql } from '../../db/money-sums.ts'
import { sql } from '../../db/schema/schema.ts'
import { accountBook } from '../../ledger/entries.ts'
import { accountOwner } from '../../ledger/state.ts'

/** How many entries and request rows with a cost there are, deleted ones included, and their sums in nanos. */
export interface RowTotals {
  readonly entries: number
  readonly amount: bigint
  readonly bills: number
  readonly cost: bigint
}

export const noRows: RowTotals = { entries: 0, amount: 0n, bills: 0, cost: 0n }

export function addTotals(one: RowTotals, other: RowTotals): RowTotals {
  return {
    entries: one.entries + other.entries,
    amount: one.amount + other.amount,
    bills: one.bills + other.bills,
    cost: one.cost + other.cost,
  }
}

/** The sum of rows that are alike. */
export interface RowGroup {
  /** That of the entries; `cost`: request rows. */
  readonly kind: string
  /** Both empty for request rows. */
  readonly debit: string
  readonly credit: string
  readonly account: string
  readonly rows: number
  /** Those with an amount. */
  readonly bills: number
  /** The highest id. */
  readonly last: number
  readonly nanos: bigint
}

const summedColumns = {
  entries: {
    id: 'id',
    nanos: 'amount_nanos',
    group: "debit, credit, kind, coalesce(account_id, '') as account",
  },
  requests: {
    id: 'row_id',
    nanos: 'cost_nanos',
    group: "'' as debit, '' as credit, 'cost' as kind, account_id as account",
  },
} as const

type SummedTable = keyof typeof summedColumns

/** Rows with ids after the first number up to the second one. */
type IdRange = readonly [after: number, last: number]

interface SumRow {
  readonly rows: number
  readonly bills: number
  readonly last: number
  readonly sum_units: number
  readonly sum_rest_nanos: bigint
}

const sumSql = `count(*) as rows, count(nullif(nanos, 0)) as bills, max(id) as last, ${splitSumSql('nanos', 'sum')}`

const nanosOf = (row: Pick<SumRow, 'sum_units' | 'sum_rest_nanos'>): bigint =>
  joinSum(row.sum_units, row.sum_rest_nanos)

/** Sums at most this many rows of a range by account. */
export async function sumRows(
  db: Db,
  table: SummedTable,
  [after, last]: IdRange,
  maxRows = Number.MAX_SAFE_INTEGER,
): Promise<RowGroup[]> {
  const { id, nanos, group } = summedColumns[table]
  const groups = await db.report<Omit<RowGroup, 'nanos'> & SumRow>({
    sql: `select kind, debit, credit, account, ${sumSql}
      from (select ${id} as id, ${nanos} as nanos, ${group} from ${table}
        where ${id} > ? and ${id} <= ? order by ${id} limit ?) as range
      group by kind, debit, credit, account`,
    parameters: [after, last, maxRows],
  })
  return groups.map((row) => ({ ...row, nanos: nanosOf(row) }))
}

/** Sums all rows of a range, in a tenth of the time that groups take. `last`: their highest id, or the start of the range. */
export async function totalRows(
  db: Db,
  table: SummedTable,
  [after, last]: IdRange,
): Promise<{ readonly totals: RowTotals; readonly last: number }> {
  const { id, nanos } = summedColumns[table]
  const [row] = await db.report<Omit<SumRow, 'last'> & { last: number | null }>({
    sql: `select ${sumSql}
      from (select ${id} as id, ${nanos} as nanos from ${table} where ${id} > ? and ${id} <= ?) as range`,
    parameters: [after, last],
  })
  if (!row) throw new Error('An aggregate query returned no row.')
  const kind = table === 'requests' ? 'cost' : ''
  return { last: row.last ?? after, totals: totalsOf([{ ...row, kind, nanos: nanosOf(row) }]) }
}

/** The costs of request rows that were deleted for their age. */
export async function sumDeletedRequests(db: Db): Promise<RowGroup[]> {
  const rows = await db.report(sql.selectFrom('dropped_bills').selectAll())
  return rows.map(({ account_id: account, bills, cost_nanos: nanos }) => {
    return { kind: 'cost', debit: '', credit: '', account, rows: bills, bills, last: 0, nanos }
  })
}

/** The highest id of the rows, or this one if it is higher. */
export function lastIdOf(groups: readonly RowGroup[], id: number): number {
  return groups.reduce((highest, { last }) => Math.max(highest, last), id)
}

export function totalsOf(groups: readonly Pick<RowGroup, 'kind' | 'rows' | 'bills' | 'nanos'>[]): RowTotals {
  let totals = noRows
  for (const { kind, rows, bills, nanos } of groups) {
    const sum = kind === 'cost' ? { bills, cost: nanos } : { entries: rows, amount: nanos }
    totals = addTotals(totals, { ...noRows, ...sum })
  }
  return totals
}

type Sums = Map<string, bigint>

function addTo(sums: Sums, name: string, nanos: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + nanos)
}

export interface Difference {
  readonly message: string
  readonly drift: bigint
}

/** Which accounts' balances differ from the sum of their entries, and which charges from the costs of the request rows. */
export function compareAccounts(
  groups: readonly RowGroup[],
  owners: readonly { readonly id: string; readonly balance_nanos: bigint }[],
): Difference[] {
  const [surplus, unbilled]: [Sums, Sums] = [new Map(), new Map()]
  for (const { kind, debit, credit, account, nanos } of groups) {
    for (const [book, amount] of [
      [debit, -nanos],
      [credit, nanos],
    ] as const)
      if (book.startsWith(accountBook(''))) addTo(surplus, book, amount)
    if (kind === 'charge') addTo(unbilled, account, nanos)
    else if (kind === 'cost') addTo(unbilled, account, -nanos)
  }
  const accounts = owners.filter(({ id }) => id.startsWith(accountOwner('')))
  for (const { id, balance_nanos: balance } of accounts)
    addTo(surplus, accountBook(id.slice(accountOwner('').length)), -balance)
  const about = [
    ...Array.from(surplus, ([book, nanos]) => [`the entries of ${book} and its balance`, nanos] as const),
    ...Array.from(unbilled, ([id, nanos]) => [`the entries and the request rows of ${id}`, nanos] as const),
  ]
  return about.flatMap(([what, nanos]) => {
    const drift = nanos < 0n ? -nanos : nanos
    return drift === 0n ? [] : [{ message: `${what} differ by ${drift} nanos`, drift }]
  })
}
