/** Promotions of recharges: a bonus by the size of what is credited, in a period, within a budget. */
import { auditStatement } from '../db/audit.ts'
import { auditChanges, auditFields } from '../db/audit-changes.ts'
import { expectChanges, type Db, type PageOptions } from '../db/db.ts'
import { columnsOf, fieldsOf, type RowFields } from '../db/row-fields.ts'
import { sql, type RechargePromotionsTable } from '../db/schema/schema.ts'
import { invalidField, notFound } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { parseAmount } from '../lib/money.ts'
import { bonusesOf, hasPaid } from './recharge-bonuses.ts'

/** Amounts as decimal text in the platform's currency; `percent` of the credit, at most `max`. */
export interface BonusTier {
  readonly min: string
  readonly fixed?: string | undefined
  readonly percent?: string | undefined
  readonly max?: string | undefined
}

export type RechargePromotion = Omit<RowFields<RechargePromotionsTable>, 'tiers'> & {
  readonly tiers: readonly BonusTier[]
}
export type RechargePromotionInput = Pick<
  RechargePromotion,
  'name' | 'startsAt' | 'endsAt' | 'tiers' | 'firstOnly' | 'budgetNanos' | 'perAccountNanos'
>
export type RechargePromotionPatch = Partial<Pick<RechargePromotion, 'name' | 'endsAt' | 'status'>>

export interface Recharge {
  readonly account: string
  readonly creditNanos: bigint
  readonly at: number
}

const maxTiers = 20
const hundredPercent = parseAmount('100')

function promotionOf(row: RechargePromotionsTable): RechargePromotion {
  return { ...fieldsOf(row), tiers: JSON.parse(row.tiers) as BonusTier[] }
}

function validate(promotion: Omit<RechargePromotionInput, 'firstOnly'>): void {
  const { name, startsAt, endsAt, tiers, budgetNanos, perAccountNanos } = promotion
  if (name.trim() === '' || name.length > 100) throw invalidField('name', 'must have 1 to 100 characters')
  if (endsAt !== null && endsAt <= startsAt) throw invalidField('ends_at', 'must be after starts_at')
  if (tiers.length === 0 || tiers.length > maxTiers)
    throw invalidField('tiers', `must have 1 to ${maxTiers} tiers`)
  for (const [index, tier] of tiers.entries()) validateTier(tier, `tiers[${index}]`)
  if (budgetNanos !== null && budgetNanos <= 0n) throw invalidField('budget', 'must be greater than 0')
  if (perAccountNanos !== null && perAccountNanos <= 0n)
    throw invalidField('per_account', 'must be greater than 0')
}

function validateTier({ min, fixed, percent, max }: BonusTier, param: string): void {
  if (parseAmount(min, `${param}.min`) < 0n) throw invalidField(`${param}.min`, 'must be at least 0')
  if ((fixed === undefined) === (percent === undefined))
    throw invalidField(param, 'must have either fixed or percent')
  if (fixed !== undefined && parseAmount(fixed, `${param}.fixed`) <= 0n)
    throw invalidField(`${param}.fixed`, 'must be greater than 0')
  if (percent !== undefined) {
    const share = parseAmount(percent, `${param}.percent`)
    if (share <= 0n || share > hundredPercent)
      throw invalidField(`${param}.percent`, 'must be greater than 0 and at most 100')
  }
  if (max === undefined) return
  if (percent === undefined) throw invalidField(`${param}.max`, 'applies to percent only')
  if (parseAmount(max, `${param}.max`) <= 0n) throw invalidField(`${param}.max`, 'must be greater than 0')
}

interface Action {
  readonly at: number
  readonly by: string
}

/** Throws 400 naming the field. */
export async function createRechargePromotion(
  db: Db,
  input: RechargePromotionInput,
  { at, by }: Action,
): Promise<RechargePromotion> {
  validate(input)
  const { tiers, ...fields } = input
  const row: RechargePromotionsTable = {
    ...(columnsOf<RechargePromotionsTable>(fields) as RechargePromotionsTable),
    id: newId('pro'),
    tiers: JSON.stringify(tiers),
    used_nanos: 0n,
    status: 'active',
    created_at: at,
    updated_at: at,
  }
  await db.write(
    expectChanges(sql.insertInto('recharge_promotions').values(row), 1),
    auditStatement(by, 'promotion.create', row.id, auditFields(fieldsOf(row))),
  )
  return promotionOf(row)
}

/** Changes future orders only; what is reserved stays. Throws 404, 400 naming the field. */
export async function updateRechargePromotion(
  db: Db,
  id: string,
  patch: RechargePromotionPatch,
  { at, by }: Action,
): Promise<RechargePromotion> {
  const before = await rechargePromotionById(db, id)
  if (before === undefined) throw notFound('Promotion')
  const set = columnsOf<RechargePromotionsTable>(patch)
  const after = { ...before, ...fieldsOf(set as RechargePromotionsTable), tiers: before.tiers, updatedAt: at }
  validate(after)
  const { tiers: _before, ...old } = before
  const { tiers: _after, ...changed } = after
  const changes = auditChanges(old, { ...changed, updatedAt: old.updatedAt })
  if (changes === null) return before
  const update = sql
    .updateTable('recharge_promotions')
    .set({ ...set, updated_at: at })
    .where('id', '=', id)
  await db.write(expectChanges(update, 1), auditStatement(by, 'promotion.update', id, changes))
  return after
}

export async function rechargePromotionById(db: Db, id: string): Promise<RechargePromotion | undefined> {
  const row = await db.first(sql.selectFrom('recharge_promotions').selectAll().where('id', '=', id))
  return row && promotionOf(row)
}

/** Newest first; one more than the page has, if there are more. */
export async function rechargePromotionsAfter(db: Db, page: PageOptions): Promise<RechargePromotion[]> {
  let query = sql
    .selectFrom('recharge_promotions')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return (await db.all(query)).map(promotionOf)
}

interface OpenPromotion {
  readonly promotion: RechargePromotion
  /** What the account can still get; null: no limit. */
  readonly leftNanos: bigint | null
}

/** The promotions that run at a time and have something left for an account. */
export async function openPromotions(db: Db, account: string, at: number): Promise<OpenPromotion[]> {
  const query = sql
    .selectFrom('recharge_promotions')
    .selectAll()
    .where('status', '=', 'active')
    .where('starts_at', '<=', at)
    .where((build) => build.or([build('ends_at', 'is', null), build('ends_at', '>', at)]))
    .orderBy('id')
  const open: OpenPromotion[] = []
  for (const row of await db.all(query)) {
    if (row.first_only === 1 && (await hasPaid(db, account))) continue
    const limits = [
      ...(row.budget_nanos === null ? [] : [row.budget_nanos - row.used_nanos]),
      ...(row.per_account_nanos === null
        ? []
        : [row.per_account_nanos - (await bonusesOf(db, row.id, account))]),
    ]
    const leftNanos = limits.reduce<bigint | null>(
      (least, limit) => (least === null || limit < least ? limit : least),
      null,
    )
    if (leftNanos === null || leftNanos > 0n) open.push({ promotion: promotionOf(row), leftNanos })
  }
  return open
}

/** The promotion with the largest bonus for this recharge that its limits still allow. */
export async function bestBonus(db: Db, { account, creditNanos, at }: Recharge) {
  let best: { readonly promotion: RechargePromotion; readonly nanos: bigint } | undefined
  for (const { promotion, leftNanos } of await openPromotions(db, account, at)) {
    const nanos = bonusOf(promotion.tiers, creditNanos)
    if (nanos > (best?.nanos ?? 0n) && (leftNanos === null || nanos <= leftNanos)) best = { promotion, nanos }
  }
  return best
}

/** The largest bonus of the tiers that the credit reaches, in nanos, rounded down. */
export function bonusOf(tiers: readonly BonusTier[], creditNanos: bigint): bigint {
  let best = 0n
  for (const { min, fixed, percent, max } of tiers) {
    if (creditNanos < parseAmount(min)) continue
    const share = percent === undefined ? 0n : (creditNanos * parseAmount(percent)) / hundredPercent
    const limited = max === undefined || share < parseAmount(max) ? share : parseAmount(max)
    const nanos = fixed === undefined ? limited : parseAmount(fixed)
    if (nanos > best) best = nanos
  }
  return best
}
