/**
 * An account's statement: every movement of money with the balance after it. Entries are append-only, so a
 * balance once shown never changes, and each page continues from the balance at which the previous one ended.
 */
import { apiError } from '../errors.ts'
import type { Db, Page, PageOptions } from '../db/db.ts'
import { joinSum, splitSumSql } from '../db/money-sums.ts'
import type { EntriesTable } from '../db/schema/schema.ts'

/** Nanos. A positive amount is in the account's favour. */
export interface Movement {
  readonly id: number
  readonly at: number
  readonly kind: string
  readonly amountNanos: bigint
  /** After this movement. */
  readonly balanceNanos: bigint
  readonly reason: string | null
  readonly source: string | null
  /** The id of the request or the credit. */
  readonly reference: string | null
}

type CreditRow = Pick<
  EntriesTable,
  'at' | 'credit' | 'amount_nanos' | 'kind' | 'reason' | 'source' | 'ref'
> & {
  id: number
}

/** A movement without its balance. */
export type Credit = Omit<Movement, 'balanceNanos'>

function creditOf(row: CreditRow, accountId: string): Credit {
  const { id, at, kind, reason, source, ref } = row
  const amountNanos = row.credit === `account:${accountId}` ? row.amount_nanos : -row.amount_nanos
  return { id, at, kind, amountNanos, reason, source, reference: ref }
}

/** Where a page begins: below this entry, with this balance. */
function parseCursor(cursor: string): { below: number; balance: bigint } {
  const match = /^(\d{1,15})\.(-?\d{1,19})$/.exec(cursor)
  if (match === null)
    throw apiError('invalid_request', { param: 'cursor', message: 'Invalid cursor for this list.' })
  return { below: Number(match[1]), balance: BigInt(match[2] ?? '') }
}

/** Newest first. */
export async function listMovements(db: Db, accountId: string, page: PageOptions): Promise<Page<Movement>> {
  const start = page.cursor === undefined ? undefined : parseCursor(page.cursor)
  const book = `account:${accountId}`
  const rows = await db.report<CreditRow & { now_nanos: bigint | null }>({
    sql: `select id, at, credit, amount_nanos, kind, reason, source, ref,
        (select balance_nanos from owners where owners.id = ?) as now_nanos
      from entries where account_id = ? and (debit = ? or credit = ?) and id < ?
      order by id desc limit ?`,
    parameters: [
      `a:${accountId}`,
      accountId,
      book,
      book,
      start?.below ?? Number.MAX_SAFE_INTEGER,
      page.limit + 1,
    ],
  })
  let balance = start?.balance ?? rows[0]?.now_nanos ?? 0n
  const data = rows.slice(0, page.limit).map((row): Movement => {
    const movement = { ...creditOf(row, accountId), balanceNanos: balance }
    balance -= movement.amountNanos
    return movement
  })
  const last = data.at(-1)
  return { data, next: rows.length > page.limit && last !== undefined ? `${last.id}.${balance}` : null }
}

const creditColumns = `id, at, credit, amount_nanos, kind, reason, source, ref
  from entries where account_id = ? and kind = 'credit'`

/** Credits only, newest first. They have an index of their own. */
export async function listCredits(db: Db, accountId: string, page: PageOptions): Promise<Page<Credit>> {
  const below = page.cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(page.cursor)
  const rows = await db.report<CreditRow>({
    sql: `select ${creditColumns} and id < ? order by id desc limit ?`,
    parameters: [accountId, below, page.limit + 1],
  })
  const data = rows.slice(0, page.limit).map((row) => creditOf(row, accountId))
  return { data, next: rows.length > page.limit ? String(data.at(-1)?.id) : null }
}

/** Credits in a time span, oldest first. */
export async function creditsBetween(db: Db, accountId: string, from: number, to: number): Promise<Credit[]> {
  const rows = await db.report<CreditRow>({
    sql: `select ${creditColumns} and at >= ? and at < ? order by id`,
    parameters: [accountId, from, to],
  })
  return rows.map((row) => creditOf(row, accountId))
}

/** The sum of all credits before a time, in nanos. */
export async function creditedBefore(db: Db, accountId: string, to: number): Promise<bigint> {
  const book = `account:${accountId}`
  const signed = 'case when credit = ? then amount_nanos else -amount_nanos end'
  const [row] = await db.report<{ credited_units: number; credited_rest_nanos: bigint }>({
    sql: `select ${splitSumSql(`(${signed})`, 'credited')}
      from entries where account_id = ? and kind = 'credit' and at < ?`,
    parameters: [book, book, accountId, to],
  })
  return row === undefined ? 0n : joinSum(row.credited_units, BigInt(row.credited_rest_nanos))
}

/** When the account's money first moved. null: never. */
export async function firstMovementAt(db: Db, accountId: string): Promise<number | null> {
  const [row] = await db.report<{ at: number }>({
    sql: 'select at from entries where account_id = ? order by id limit 1',
    parameters: [accountId],
  })
  return row?.at ?? null
}
