/**
 * Vouchers: codes that are worth an amount once. Only the hash of a code is kept, so that whoever reads the database
 * cannot spend them. The codes and the time are handed in: this room knows no chance and no clock.
 */
import { hash } from 'node:crypto'
import { refuse } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql } from '../db/schema.ts'
import { plainVoucherCode } from '../lib/voucher-code.ts'

export interface Voucher {
  /** Names the voucher without telling its code. */
  readonly id: string
  readonly amountNanos: bigint
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly redeemedAt: number | null
  readonly redeemedBy: string | null
}

export interface VoucherOrder {
  /** Nanos that each is worth. */
  readonly amountNanos: bigint
  readonly codes: readonly string[]
  readonly expiresAt: number | null
  readonly at: number
}

const idLength = 24

/** What is stored and looked up: SHA-256 in hex of the code as it was printed. */
export function hashOfVoucher(code: string): string {
  return hash('sha256', plainVoucherCode(code), 'hex')
}

/** Refuses with 400 naming the field. */
export async function createVouchers(db: Db, order: VoucherOrder, by: string): Promise<void> {
  const { amountNanos, codes, expiresAt, at } = order
  if (amountNanos <= 0n)
    throw refuse('invalid_request', { param: 'amount', message: 'amount has to be above 0.' })
  if (expiresAt !== null && expiresAt <= at) {
    throw refuse('invalid_request', { param: 'expires_at', message: 'expires_at lies in the past.' })
  }
  const rows = codes.map((code) => ({
    code_hash: hashOfVoucher(code),
    amount_nanos: amountNanos,
    expires_at: expiresAt,
    created_at: at,
    redeemed_at: null,
    redeemed_by: null,
  }))
  const detail = { amountNanos, count: rows.length, expiresAt }
  await db.write(
    expecting(sql.insertInto('vouchers').values(rows), rows.length),
    auditRow(by, 'voucher.create', 'vouchers', detail),
  )
}

/** A voucher's place in the list: the time it was made, and its hash. */
function placeOf(cursor: string): readonly [number, string] {
  const [, at = '', code = ''] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(cursor) ?? []
  if (code !== '') return [Number(at), code]
  throw refuse('invalid_request', { param: 'cursor', message: 'cursor is not one of this list.' })
}

/** Newest first. */
export async function listVouchers(
  db: Db,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ data: Voucher[]; next: string | null }> {
  let query = sql
    .selectFrom('vouchers')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('code_hash', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) {
    const [at, code] = placeOf(page.cursor)
    query = query.where((build) =>
      build(build.refTuple('created_at', 'code_hash'), '<', build.tuple(at, code)),
    )
  }
  const rows = await db.report(query)
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  const data = shown.map((row) => ({
    id: `vch_${row.code_hash.slice(0, idLength)}`,
    amountNanos: row.amount_nanos,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    redeemedAt: row.redeemed_at,
    redeemedBy: row.redeemed_by,
  }))
  return { data, next: last === undefined ? null : `${last.created_at}.${last.code_hash}` }
}
