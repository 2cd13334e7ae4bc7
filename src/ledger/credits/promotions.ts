/**
 * Promotions: trial credit for a while, for as many as there is room for. Each mailbox gets it once, ever, and each
 * account. The time is handed in: this room knows no clock.
 */
import type { Updateable } from 'kysely'
import { refuse, type Refusal } from '../../errors.ts'
import { auditRow } from '../../db/audit.ts'
import { expecting, type Db } from '../../db/db.ts'
import { sql, type PromotionsTable } from '../../db/schema/schema.ts'
import { isTaken, isUnmet } from '../../db/store-error.ts'
import { newId } from '../../lib/ids.ts'

export const promotionStates = ['scheduled', 'running', 'used up', 'ended', 'paused'] as const
export type PromotionState = (typeof promotionStates)[number]

export interface Promotion {
  readonly id: string
  readonly name: string
  /** Who names it gets it; null: everybody, unless they name another. */
  readonly code: string | null
  readonly amountNanos: bigint
  readonly startsAt: number
  /** null: it does not end by itself. */
  readonly endsAt: number | null
  readonly grantsMax: number | null
  readonly granted: number
  /** After so many days what is left of a credit is taken back; null: never. */
  readonly creditDays: number | null
  readonly status: 'active' | 'paused'
  readonly state: PromotionState
  readonly createdAt: number
  readonly updatedAt: number
}

/** Not named stays, on creation: now, without an end, a bound, a code; null removes. */
export interface PromotionPatch {
  readonly name?: string
  readonly code?: string | null
  readonly amountNanos?: bigint
  readonly startsAt?: number
  readonly endsAt?: number | null
  readonly grantsMax?: number | null
  readonly creditDays?: number | null
  readonly status?: 'active' | 'paused'
}

export interface PromotionInput extends PromotionPatch {
  readonly name: string
  readonly amountNanos: bigint
}

const codePattern = /^[A-Za-z0-9_-]{1,40}$/
const nameMax = 100

function stateAt(row: PromotionsTable, at: number): PromotionState {
  if (row.ends_at !== null && row.ends_at <= at) return 'ended'
  if (row.grants_max !== null && row.granted >= row.grants_max) return 'used up'
  if (row.status === 'paused') return 'paused'
  return row.starts_at > at ? 'scheduled' : 'running'
}

function promotionOf(row: PromotionsTable, at: number): Promotion {
  return {
    id: row.id,
    name: row.name,
    code: row.code,
    amountNanos: row.amount_nanos,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    grantsMax: row.grants_max,
    granted: row.granted,
    creditDays: row.credit_days,
    status: row.status,
    state: stateAt(row, at),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function invalid(param: string, words: string): Refusal {
  return refuse('invalid_request', { param, message: `${param} ${words}.` })
}

function checked(row: PromotionsTable): PromotionsTable {
  if (row.name.trim() === '' || row.name.length > nameMax)
    throw invalid('name', `has to have 1 to ${nameMax} characters`)
  if (row.code !== null && !codePattern.test(row.code))
    throw invalid('code', 'has to have 1 to 40 letters, digits, "-" or "_"')
  if (row.amount_nanos <= 0n) throw invalid('amount', 'has to be above 0')
  if (row.ends_at !== null && row.ends_at <= row.starts_at)
    throw invalid('ends_at', 'has to be after starts_at')
  return row
}

function changesOf(patch: PromotionPatch): Updateable<PromotionsTable> {
  const set: Updateable<PromotionsTable> = {}
  if (patch.name !== undefined) set.name = patch.name
  if (patch.code !== undefined) set.code = patch.code
  if (patch.amountNanos !== undefined) set.amount_nanos = patch.amountNanos
  if (patch.startsAt !== undefined) set.starts_at = patch.startsAt
  if (patch.endsAt !== undefined) set.ends_at = patch.endsAt
  if (patch.grantsMax !== undefined) set.grants_max = patch.grantsMax
  if (patch.creditDays !== undefined) set.credit_days = patch.creditDays
  if (patch.status !== undefined) set.status = patch.status
  return set
}

function refusalFor(error: unknown): unknown {
  if (isTaken(error, 'promotions.code'))
    return refuse('conflict', { param: 'code', message: 'A promotion with this code exists.' })
  return isUnmet(error, 0) ? noSuchPromotion() : error
}

function noSuchPromotion(): Refusal {
  return refuse('not_found', { message: 'There is no such promotion.' })
}

/** Refuses with 400 naming the field, or with 409 when the code is another's. */
export async function createPromotion(
  db: Db,
  input: PromotionInput,
  { at, by }: { readonly at: number; readonly by: string },
): Promise<Promotion> {
  const row = checked({
    id: newId('pro'),
    name: input.name,
    code: null,
    amount_nanos: input.amountNanos,
    starts_at: at,
    ends_at: null,
    grants_max: null,
    granted: 0,
    credit_days: null,
    status: 'active',
    created_at: at,
    updated_at: at,
    ...changesOf(input),
  })
  try {
    await db.write(
      expecting(sql.insertInto('promotions').values(row), 1),
      auditRow(by, 'promotion.create', row.id, row),
    )
  } catch (error) {
    throw refusalFor(error)
  }
  return promotionOf(row, at)
}

/** Changes the fields given, for what is granted from now on. Refuses with 404, 400 naming the field, 409. */
export async function updatePromotion(
  db: Db,
  id: string,
  patch: PromotionPatch,
  { at, by }: { readonly at: number; readonly by: string },
): Promise<Promotion> {
  const before = await promotionRow(db, id)
  if (before === undefined) throw noSuchPromotion()
  const set = changesOf(patch)
  checked({ ...before, ...set })
  const update = sql
    .updateTable('promotions')
    .set({ ...set, updated_at: at })
    .where('id', '=', id)
  try {
    await db.write(expecting(update, 1), auditRow(by, 'promotion.update', id, set))
  } catch (error) {
    throw refusalFor(error)
  }
  const after = await promotionById(db, id, at)
  if (after === undefined) throw noSuchPromotion()
  return after
}

function promotionRow(db: Db, id: string): Promise<PromotionsTable | undefined> {
  return db.first(sql.selectFrom('promotions').selectAll().where('id', '=', id))
}

export async function promotionById(db: Db, id: string, at: number): Promise<Promotion | undefined> {
  const row = await promotionRow(db, id)
  return row === undefined ? undefined : promotionOf(row, at)
}

/** Newest first; `cursor` is the last id of the page before. */
export async function listPromotions(
  db: Db,
  page: { readonly limit: number; readonly cursor?: string; readonly at: number },
): Promise<{ data: Promotion[]; next: string | null }> {
  let query = sql
    .selectFrom('promotions')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map((row) => promotionOf(row, page.at))
  return { data, next: rows.length > page.limit ? (data.at(-1)?.id ?? null) : null }
}

/** The promotion that has room at a time: with this code, or of those without one the one that began last. */
export async function runningPromotion(
  db: Db,
  code: string | null,
  at: number,
): Promise<Promotion | undefined> {
  const query = sql
    .selectFrom('promotions')
    .selectAll()
    .where('code', code === null ? 'is' : '=', code)
    .where('status', '=', 'active')
    .where('starts_at', '<=', at)
    .where((build) => build.or([build('ends_at', 'is', null), build('ends_at', '>', at)]))
    .where((build) =>
      build.or([build('grants_max', 'is', null), build('granted', '<', build.ref('grants_max'))]),
    )
    .orderBy('starts_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
  const row = await db.first(query)
  return row === undefined ? undefined : promotionOf(row, at)
}
