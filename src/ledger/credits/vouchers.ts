/**
 * Vouchers: codes that are worth an amount once. Only the hash of a code is kept, so that whoever reads the database
 * cannot spend them. The codes and the time are handed in: this room knows no chance and no clock.
 */
import { hash } from 'node:crypto'
import { refuse, type Refusal } from '../../errors.ts'
import { auditRow } from '../../db/audit.ts'
import { expecting, type Db } from '../../db/db.ts'
import { sql, type VouchersTable } from '../../db/schema/schema.ts'
import { isUnmet } from '../../db/store-error.ts'
import { plainVoucherCode } from '../../lib/voucher-code.ts'
import { creditOrderRow } from './credit-orders.ts'

export const voucherStatuses = ['unused', 'redeemed', 'expired', 'revoked'] as const
export type VoucherStatus = (typeof voucherStatuses)[number]

export interface Voucher {
  /** Names the voucher without telling its code. */
  readonly id: string
  readonly status: VoucherStatus
  readonly amountNanos: bigint
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly redeemedAt: number | null
  /** The account. */
  readonly redeemedBy: string | null
  readonly revokedAt: number | null
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
    revoked_at: null,
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

function statusAt(row: VouchersTable, at: number): VoucherStatus {
  if (row.redeemed_at !== null) return 'redeemed'
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at !== null && row.expires_at <= at ? 'expired' : 'unused'
}

function voucherOf(row: VouchersTable, at: number): Voucher {
  return {
    id: `vch_${row.code_hash.slice(0, idLength)}`,
    status: statusAt(row, at),
    amountNanos: row.amount_nanos,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    redeemedAt: row.redeemed_at,
    redeemedBy: row.redeemed_by,
    revokedAt: row.revoked_at,
  }
}

function vouchers() {
  return sql.selectFrom('vouchers').selectAll()
}

/** Those that have a status at a time. */
function inStatus(status: VoucherStatus, at: number) {
  const unredeemed = vouchers().where('redeemed_at', 'is', null)
  const standing = unredeemed.where('revoked_at', 'is', null)
  switch (status) {
    case 'redeemed':
      return vouchers().where('redeemed_at', 'is not', null)
    case 'revoked':
      return unredeemed.where('revoked_at', 'is not', null)
    case 'expired':
      return standing.where('expires_at', '<=', at)
    case 'unused':
      return standing.where((build) =>
        build.or([build('expires_at', 'is', null), build('expires_at', '>', at)]),
      )
  }
}

export interface VoucherFilter {
  readonly status?: VoucherStatus
  /** The account that redeemed it. */
  readonly account?: string
}

/** Newest first, with the status at a time. */
export async function listVouchers(
  db: Db,
  filter: VoucherFilter,
  page: { readonly limit: number; readonly cursor?: string; readonly at: number },
): Promise<{ data: Voucher[]; next: string | null }> {
  let query = (filter.status === undefined ? vouchers() : inStatus(filter.status, page.at))
    .orderBy('created_at', 'desc')
    .orderBy('code_hash', 'desc')
    .limit(page.limit + 1)
  if (filter.account !== undefined) query = query.where('redeemed_by', '=', filter.account)
  if (page.cursor !== undefined) {
    const [at, code] = placeOf(page.cursor)
    query = query.where((build) =>
      build(build.refTuple('created_at', 'code_hash'), '<', build.tuple(at, code)),
    )
  }
  const rows = await db.report(query)
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? shown.at(-1) : undefined
  const next = last === undefined ? null : `${last.created_at}.${last.code_hash}`
  return { data: shown.map((row) => voucherOf(row, page.at)), next }
}

async function rowById(db: Db, id: string): Promise<VouchersTable | undefined> {
  const start = /^vch_([0-9a-f]{24})$/.exec(id)?.[1]
  if (start === undefined) return undefined
  return db.first(vouchers().where('code_hash', '>=', start).where('code_hash', '<', `${start}g`))
}

/** Ends a voucher that nobody has redeemed. Refuses with 404, or with 409 when it is redeemed or revoked already. */
export async function revokeVoucher(db: Db, id: string, at: number, by: string): Promise<Voucher> {
  const row = await rowById(db, id)
  if (row === undefined) throw refuse('not_found', { message: 'There is no such voucher.' })
  const update = sql
    .updateTable('vouchers')
    .set({ revoked_at: at })
    .where('code_hash', '=', row.code_hash)
    .where('redeemed_at', 'is', null)
    .where('revoked_at', 'is', null)
  try {
    await db.write(expecting(update, 1), auditRow(by, 'voucher.revoke', id))
  } catch (error) {
    if (!isUnmet(error, 0)) throw error
    throw refuse('conflict', { message: 'This voucher is redeemed or revoked already.' })
  }
  return voucherOf({ ...row, revoked_at: at }, at)
}

/** Why a voucher is worth nothing. Of a code that is unknown nothing else is told than of one that cannot be. */
export function voucherRefusal(status: VoucherStatus | undefined): Refusal {
  switch (status) {
    case 'redeemed':
      return refuse('conflict', {
        code: 'voucher_used',
        param: 'code',
        message: 'This voucher has been used.',
      })
    case 'expired':
      return refuse('conflict', {
        code: 'voucher_expired',
        param: 'code',
        message: 'This voucher has expired.',
      })
    case 'revoked':
      return refuse('conflict', {
        code: 'voucher_revoked',
        param: 'code',
        message: 'This voucher has been revoked.',
      })
    case 'unused':
    case undefined:
      return refuse('not_found', {
        code: 'voucher_unknown',
        param: 'code',
        message: 'There is no voucher with this code.',
      })
  }
}

export async function voucherByCode(db: Db, code: string, at: number): Promise<Voucher | undefined> {
  const row = await db.first(vouchers().where('code_hash', '=', hashOfVoucher(code)))
  return row === undefined ? undefined : voucherOf(row, at)
}

/**
 * Uses a voucher for an account, with the order of its credit, whose id is returned: of however many at once, one does.
 * Refuses when it is worth nothing.
 */
export async function claimVoucher(
  db: Db,
  code: string,
  { account, at, by }: { readonly account: string; readonly at: number; readonly by: string },
): Promise<{ voucher: Voucher; creditId: string }> {
  const voucher = await voucherByCode(db, code, at)
  if (voucher?.status !== 'unused') throw voucherRefusal(voucher?.status)
  const { id, amountNanos } = voucher
  const update = sql
    .updateTable('vouchers')
    .set({ redeemed_at: at, redeemed_by: account })
    .where('code_hash', '=', hashOfVoucher(code))
    .where('redeemed_at', 'is', null)
    .where('revoked_at', 'is', null)
  const creditId = `voucher:${id}`
  const order = { id: creditId, account, amountNanos, source: 'voucher' as const, reason: `Voucher ${id}` }
  try {
    await db.write(
      expecting(update, 1),
      creditOrderRow(order, at),
      auditRow(by, 'voucher.redeem', id, { account, amountNanos }),
    )
  } catch (error) {
    if (!isUnmet(error, 0)) throw error
    throw voucherRefusal((await voucherByCode(db, code, at))?.status)
  }
  const used = { ...voucher, status: 'redeemed' as const, redeemedAt: at, redeemedBy: account }
  return { voucher: used, creditId }
}
