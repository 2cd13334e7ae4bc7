/**
 * Promotions: trial credit for a limited time or a limited number of accounts. Each mailbox and each account
 * gets it once, ever. The ledger has no clock, so callers pass the time.
 */
import { apiError, invalidField, notFound } from '../../errors.ts'
import { auditStatement } from '../../db/audit.ts'
import { auditChanges, auditFields } from '../../db/audit-changes.ts'
import { fieldsOf, columnsOf, type RowFields } from '../../db/row-fields.ts'
import { expectChanges, type Db, type Page } from '../../db/db.ts'
import { sql, type PromotionsTable } from '../../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../../db/store-error.ts'
import { newId } from '../../lib/ids.ts'

export const promotionStates = ['scheduled', 'running', 'used up', 'ended', 'paused'] as const
export type PromotionState = (typeof promotionStates)[number]

/** Amounts are nanos. `endsAt`, `grantsMax` and `creditDays` null: no limit. */
export type Promotion = RowFields<PromotionsTable> & { readonly state: PromotionState }

/**
 * Omitted fields stay unchanged; on creation they default to "from now", no end, no limit and no code. null
 * removes a value.
 */
export type PromotionPatch = Partial<
  Pick<
    Promotion,
    'name' | 'code' | 'amountNanos' | 'startsAt' | 'endsAt' | 'grantsMax' | 'creditDays' | 'status'
  >
>
export type PromotionInput = PromotionPatch & Pick<Promotion, 'name' | 'amountNanos'>

const codePattern = /^[A-Za-z0-9_-]{1,40}$/
const maxNameLength = 100

function stateAt(row: PromotionsTable, at: number): PromotionState {
  if (row.ends_at !== null && row.ends_at <= at) return 'ended'
  if (row.grants_max !== null && row.granted >= row.grants_max) return 'used up'
  if (row.status === 'paused') return 'paused'
  return row.starts_at > at ? 'scheduled' : 'running'
}

function promotionOf(row: PromotionsTable, at: number): Promotion {
  return { ...fieldsOf(row), state: stateAt(row, at) }
}

function validate(row: PromotionsTable): PromotionsTable {
  if (row.name.trim() === '' || row.name.length > maxNameLength)
    throw invalidField('name', `must have 1 to ${maxNameLength} characters`)
  if (row.code !== null && !codePattern.test(row.code))
    throw invalidField('code', 'must have 1 to 40 letters, digits, "-" or "_"')
  if (row.amount_nanos <= 0n) throw invalidField('amount', 'must be greater than 0')
  if (row.ends_at !== null && row.ends_at <= row.starts_at)
    throw invalidField('ends_at', 'must be after starts_at')
  return row
}

function toApiError(error: unknown): unknown {
  if (isUniqueViolation(error, 'promotions.code'))
    return apiError('conflict', { param: 'code', message: 'A promotion with this code already exists.' })
  return isExpectationFailureOf(error, 0) ? notFound('Promotion') : error
}

/** Throws 400 naming the field, or 409 if the code is taken. */
export async function createPromotion(
  db: Db,
  input: PromotionInput,
  { at, by }: { readonly at: number; readonly by: string },
): Promise<Promotion> {
  const row = validate({
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
    ...columnsOf<PromotionsTable>(input),
  })
  try {
    await db.write(
      expectChanges(sql.insertInto('promotions').values(row), 1),
      auditStatement(by, 'promotion.create', row.id, auditFields(promotionOf(row, at))),
    )
  } catch (error) {
    throw toApiError(error)
  }
  return promotionOf(row, at)
}

/**
 * Changes the given fields for future grants. Throws 404, 400 naming the field, or 409. A patch that changes nothing
 * writes nothing.
 */
export async function updatePromotion(
  db: Db,
  id: string,
  patch: PromotionPatch,
  { at, by }: { readonly at: number; readonly by: string },
): Promise<Promotion> {
  const before = await promotionRow(db, id)
  if (before === undefined) throw notFound('Promotion')
  const set = columnsOf<PromotionsTable>(patch)
  const changes = auditChanges(promotionOf(before, at), promotionOf(validate({ ...before, ...set }), at))
  if (changes === null) return promotionOf(before, at)
  const update = sql
    .updateTable('promotions')
    .set({ ...set, updated_at: at })
    .where('id', '=', id)
  try {
    await db.write(expectChanges(update, 1), auditStatement(by, 'promotion.update', id, changes))
  } catch (error) {
    throw toApiError(error)
  }
  const after = await promotionById(db, id, at)
  if (after === undefined) throw notFound('Promotion')
  return after
}

function promotionRow(db: Db, id: string): Promise<PromotionsTable | undefined> {
  return db.first(sql.selectFrom('promotions').selectAll().where('id', '=', id))
}

export async function promotionById(db: Db, id: string, at: number): Promise<Promotion | undefined> {
  const row = await promotionRow(db, id)
  return row === undefined ? undefined : promotionOf(row, at)
}

/** Newest first. `cursor` is the last id of the previous page. */
export async function listPromotions(
  db: Db,
  page: { readonly limit: number; readonly cursor?: string; readonly at: number },
): Promise<Page<Promotion>> {
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

/**
 * The promotion that can grant credit at this time: the one with this code or, without a code, the one that
 * started last.
 */
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
