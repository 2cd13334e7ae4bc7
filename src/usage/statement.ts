/**
 * An account's statement: every movement of its money with the balance after it. Entries are append-only, so a
 * balance once shown never changes, and a page carries on from the balance where the page before ended.
 */
import { refuse } from '../errors.ts'
import type { Db } from '../db/db.ts'
import type { EntriesTable } from '../db/schema.ts'

/** Nanos; positive is in the account's favour. */
export interface Movement {
  readonly id: number
  readonly at: number
  readonly kind: string
  readonly amountNanos: bigint
  /** After this movement. */
  readonly balanceNanos: bigint
  readonly reason: string | null
  readonly source: string | null
  /** The request's or the credit's id. */
  readonly reference: string | null
}

type Row = Pick<EntriesTable, 'at' | 'credit' | 'amount_nanos' | 'kind' | 'reason' | 'source' | 'ref'> & {
  id: number
  now_nanos: bigint | null
}

/** Where a page begins: below this entry, at this balance. */
function startOf(cursor: string): { below: number; balance: bigint } {
  const match = /^(\d{1,15})\.(-?\d{1,19})$/.exec(cursor)
  if (match === null)
    throw refuse('invalid_request', { param: 'cursor', message: 'cursor is not one of ours.' })
  return { below: Number(match[1]), balance: BigInt(match[2] ?? '') }
}

/** Newest first. */
export async function listMovements(
  db: Db,
  accountId: string,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ data: Movement[]; next: string | null }> {
  const start = page.cursor === undefined ? undefined : startOf(page.cursor)
  const book = `account:${accountId}`
  const rows = await db.report<Row>({
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
    const amountNanos = row.credit === book ? row.amount_nanos : -row.amount_nanos
    const movement = {
      id: row.id,
      at: row.at,
      kind: row.kind,
      amountNanos,
      balanceNanos: balance,
      reason: row.reason,
      source: row.source,
      reference: row.ref,
    }
    balance -= amountNanos
    return movement
  })
  const last = data.at(-1)
  return { data, next: rows.length > page.limit && last !== undefined ? `${last.id}.${balance}` : null }
}
