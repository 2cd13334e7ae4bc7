/**
 * Vouchers: codes that are worth an amount once. Only the hash of a code is stored, so a reader of the
 * database cannot redeem them. The ledger has no randomness and no clock, so callers pass the codes and the
 * time.
 */
import { hash } from 'node:crypto'
import { apiError, type ApiError, notFound } from '../../errors.ts'
import { auditStatement } from '../../db/audit.ts'
import { auditFields } from '../../db/audit-changes.ts'
import { fieldsOf, type RowFields } from '../../db/row-fields.ts'
import { expectChanges, type Db, type Page } from '../../db/db.ts'
import { sql, type VouchersTable } from '../../db/schema/schema.ts'
import { isExpectationFailureOf } from '../../db/store-error.ts'
import { normalizeVoucherCode } from '../../lib/voucher-code.ts'
import { insertCreditOrder } from './credit-orders.ts'

export const voucherStatuses = ['unused', 'redeemed', 'expired', 'revoked'] as const
export type VoucherStatus = (typeof voucherStatuses)[number]

/** `id` identifies it without revealing its code; `redeemedBy` is the id of the account. */
export interface Voucher extends Omit<RowFields<VouchersTable>, 'codeHash'> {
  readonly id: string
  readonly status: VoucherStatus
}

/** A voucher that was redeemed, and the credit that came of it. */
export interface VoucherReceipt {
  readonly voucher: Voucher
  readonly creditId: string
  readonly balance: bigint
}

export interface VoucherBatch {
  /** The value of each voucher, in nanos. */
  readonly amountNanos: bigint
  readonly codes: readonly string[]
  readonly expiresAt: number | null
  readonly at: number
}

const idLength = 24

/** What is stored and looked up: the SHA-256, in hex, of the code as printed. */
export function hashOfVoucher(code: string): string {
  return hash('sha256', normalizeVoucherCode(code), 'hex')
}

/** Throws 400 naming the field. */
export async function createVouchers(db: Db, batch: VoucherBatch, by: string): Promise<void> {
  const { amountNanos, codes, expiresAt, at } = batch
  if (amountNanos <= 0n)
    throw apiError('invalid_request', { param: 'amount', message: 'amount must be greater than 0.' })
  if (expiresAt !== null && expiresAt <= at) {
    throw apiError('invalid_request', { param: 'expires_at', message: 'expires_at must be in the future.' })
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
  const detail = auditFields({ amountNanos, count: rows.length, expiresAt })
  await db.write(
    expectChanges(sql.insertInto('vouchers').values(rows), rows.length),
    auditStatement(by, 'voucher.create', 'vouchers', detail),
  )
}

/** A position in the list: creation time and hash. */
function parseCursor(cursor: string): readonly [number, string] {
  const [, at = '', code = ''] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(cursor) ?? []
  if (code !== '') return [Number(at), code]
  throw apiError('invalid_request', { param: 'cursor', message: 'Invalid cursor for this list.' })
}

function statusAt(row: VouchersTable, at: number): VoucherStatus {
  if (row.redeemed_at !== null) return 'redeemed'
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at !== null && row.expires_at <= at ? 'expired' : 'unused'
}

function voucherOf(row: VouchersTable, at: number): Voucher {
  const { codeHash, ...fields } = fieldsOf(row)
  return { id: `vch_${codeHash.slice(0, idLength)}`, status: statusAt(row, at), ...fields }
}

function vouchers() {
  return sql.selectFrom('vouchers').selectAll()
}

/** The vouchers that have a status at the given time. */
function withStatus(status: VoucherStatus, at: number) {
  const unredeemed = vouchers().where('redeemed_at', 'is', null)
  const unrevoked = unredeemed.where('revoked_at', 'is', null)
  switch (status) {
    case 'redeemed':
      return vouchers().where('redeemed_at', 'is not', null)
    case 'revoked':
      return unredeemed.where('revoked_at', 'is not', null)
    case 'expired':
      return unrevoked.where('expires_at', '<=', at)
    case 'unused':
      return unrevoked.where((build) =>
        build.or([build('expires_at', 'is', null), build('expires_at', '>', at)]),
      )
  }
}

export interface VoucherFilter {
  readonly status?: VoucherStatus
  /** The account that redeemed it. */
  readonly account?: string
}

/** Newest first, with their status at the given time. */
export async function listVouchers(
  db: Db,
  filter: VoucherFilter,
  page: { readonly limit: number; readonly cursor?: string; readonly at: number },
): Promise<Page<Voucher>> {
  let query = (filter.status === undefined ? vouchers() : withStatus(filter.status, page.at))
    .orderBy('created_at', 'desc')
    .orderBy('code_hash', 'desc')
    .limit(page.limit + 1)
  if (filter.account !== undefined) query = query.where('redeemed_by', '=', filter.account)
  if (page.cursor !== undefined) {
    const [at, code] = parseCursor(page.cursor)
    query = query.where((build) =>
      build(build.refTuple('created_at', 'code_hash'), '<', build.tuple(at, code)),
    )
  }
  const rows = await db.report(query)
  const visible = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? visible.at(-1) : undefined
  const next = last === undefined ? null : `${last.created_at}.${last.code_hash}`
  return { data: visible.map((row) => voucherOf(row, page.at)), next }
}

async function voucherRowById(db: Db, id: string): Promise<VouchersTable | undefined> {
  const hashPrefix = /^vch_([0-9a-f]{24})$/.exec(id)?.[1]
  if (hashPrefix === undefined) return undefined
  return db.first(vouchers().where('code_hash', '>=', hashPrefix).where('code_hash', '<', `${hashPrefix}g`))
}

/** Revokes a voucher that has not been redeemed. Throws 404, or 409 if it has been redeemed or revoked. */
export async function revokeVoucher(db: Db, id: string, at: number, by: string): Promise<Voucher> {
  const row = await voucherRowById(db, id)
  if (row === undefined) throw notFound('Voucher')
  const update = sql
    .updateTable('vouchers')
    .set({ revoked_at: at })
    .where('code_hash', '=', row.code_hash)
    .where('redeemed_at', 'is', null)
    .where('revoked_at', 'is', null)
  try {
    await db.write(expectChanges(update, 1), auditStatement(by, 'voucher.revoke', id))
  } catch (error) {
    if (!isExpectationFailureOf(error, 0)) throw error
    throw apiError('conflict', { message: 'This voucher has already been redeemed or revoked.' })
  }
  return voucherOf({ ...row, revoked_at: at }, at)
}

const usedErrors = {
  redeemed: { code: 'voucher_used', message: 'This voucher has been used.' },
  expired: { code: 'voucher_expired', message: 'This voucher has expired.' },
  revoked: { code: 'voucher_revoked', message: 'This voucher has been revoked.' },
} as const

/** Why a voucher cannot be redeemed. An unknown code and a malformed code get the same answer. */
export function voucherError(status: VoucherStatus | undefined): ApiError {
  if (status !== undefined && status !== 'unused')
    return apiError('conflict', { param: 'code', ...usedErrors[status] })
  const message = 'No voucher with this code was found.'
  return apiError('not_found', { param: 'code', code: 'voucher_unknown', message })
}

export async function voucherByCode(db: Db, code: string, at: number): Promise<Voucher | undefined> {
  const row = await db.first(vouchers().where('code_hash', '=', hashOfVoucher(code)))
  return row === undefined ? undefined : voucherOf(row, at)
}

/**
 * Redeems a voucher for an account and orders its credit, whose id is returned. Of several concurrent calls
 * one succeeds. Throws if the voucher cannot be redeemed.
 */
export async function claimVoucher(
  db: Db,
  code: string,
  { account, at, by }: { readonly account: string; readonly at: number; readonly by: string },
): Promise<{ voucher: Voucher; creditId: string }> {
  const voucher = await voucherByCode(db, code, at)
  if (voucher?.status !== 'unused') throw voucherError(voucher?.status)
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
      expectChanges(update, 1),
      insertCreditOrder(order, at),
      auditStatement(by, 'voucher.redeem', id, auditFields({ account, amountNanos })),
    )
  } catch (error) {
    if (!isExpectationFailureOf(error, 0)) throw error
    throw voucherError((await voucherByCode(db, code, at))?.status)
  }
  const used = { ...voucher, status: 'redeemed' as const, redeemedAt: at, redeemedBy: account }
  return { voucher: used, creditId }
}
