/** The part of `/promotions` that is about recharges: a bonus by size and period. */
import { z } from '@hono/zod-openapi'
import type { PageOptions, Page, Db } from '../../../db/db.ts'
import { pageOf } from '../../../db/db.ts'
import { invalidField } from '../../../errors.ts'
import {
  listPromotions,
  promotionStates,
  type Promotion,
  type PromotionState,
} from '../../../ledger/credits/promotions.ts'
import {
  rechargePromotionsAfter,
  type RechargePromotion,
  type RechargePromotionInput,
  type RechargePromotionPatch,
} from '../../../payments/recharge-promotions.ts'
import { formatAmount } from '../../../lib/money.ts'
import { bonusTier } from '../../api/bonus-tiers.ts'
import { formatOptionalAmount, formatTime, parseOptionalAmount, parseTime } from '../../api/json-values.ts'
import { money, time } from '../schemas.ts'

/** What only promotions with `on: "recharge"` have. */
export const rechargeFields = {
  tiers: z.array(bonusTier).optional(),
  first_only: z.boolean().optional(),
  budget: money.nullish(),
  per_account: money.nullish(),
}

export const rechargePromotionSchema = z
  .object({
    id: z.string(),
    on: z.literal('recharge'),
    name: z.string(),
    starts_at: time,
    ends_at: time.nullable(),
    tiers: z.array(bonusTier),
    first_only: z.boolean(),
    budget: money.nullable(),
    per_account: money.nullable(),
    used: money.meta({ description: 'Reserved by open orders and granted to paid ones.' }),
    status: z.enum(['active', 'paused']),
    state: z.enum(promotionStates).meta({ description: 'The current state.' }),
    created_at: time,
    updated_at: time,
  })
  .openapi('RechargePromotion')

function stateAt(promotion: RechargePromotion, at: number): PromotionState {
  const { startsAt, endsAt, budgetNanos, usedNanos, status } = promotion
  if (endsAt !== null && endsAt <= at) return 'ended'
  if (budgetNanos !== null && usedNanos >= budgetNanos) return 'used up'
  if (status === 'paused') return 'paused'
  return startsAt > at ? 'scheduled' : 'running'
}

export function serializeRecharge(promotion: RechargePromotion): z.infer<typeof rechargePromotionSchema> {
  const { id, name, startsAt, endsAt, firstOnly, budgetNanos, perAccountNanos, status } = promotion
  return {
    id,
    on: 'recharge',
    name,
    starts_at: formatTime(startsAt),
    ends_at: formatTime(endsAt),
    tiers: [...promotion.tiers],
    first_only: firstOnly === 1,
    budget: formatOptionalAmount(budgetNanos),
    per_account: formatOptionalAmount(perAccountNanos),
    used: formatAmount(promotion.usedNanos),
    status,
    state: stateAt(promotion, Date.now()),
    created_at: formatTime(promotion.createdAt),
    updated_at: formatTime(promotion.updatedAt),
  }
}

interface Body {
  readonly name?: string | undefined
  readonly starts_at?: string | undefined
  readonly ends_at?: string | null | undefined
  readonly status?: 'active' | 'paused' | undefined
  readonly tiers?: readonly z.infer<typeof bonusTier>[] | undefined
  readonly first_only?: boolean | undefined
  readonly budget?: string | null | undefined
  readonly per_account?: string | null | undefined
}

/** Throws 400 naming the field. */
export function toRechargeInput(body: Body & { readonly name: string }, at: number): RechargePromotionInput {
  requireOnly(body, ['name', 'on', 'starts_at', 'ends_at', ...Object.keys(rechargeFields)])
  if (body.tiers === undefined) throw invalidField('tiers', 'is required')
  return {
    name: body.name,
    startsAt: parseTime(body.starts_at) ?? at,
    endsAt: parseTime(body.ends_at) ?? null,
    tiers: body.tiers,
    firstOnly: body.first_only === true ? 1 : 0,
    budgetNanos: parseOptionalAmount(body.budget, 'budget') ?? null,
    perAccountNanos: parseOptionalAmount(body.per_account, 'per_account') ?? null,
  }
}

/** Throws 400 naming a field that cannot be changed. */
export function toRechargePatch(body: Body): RechargePromotionPatch {
  requireOnly(body, ['name', 'ends_at', 'status'])
  const { name, ends_at: end, status } = body
  const endsAt = parseTime(end)
  return {
    ...(name === undefined ? {} : { name }),
    ...(endsAt === undefined ? {} : { endsAt }),
    ...(status === undefined ? {} : { status }),
  }
}

/** Throws 400 naming the first given field that is not one of these. */
export function requireOnly(body: object, fields: readonly string[]): void {
  const other = Object.entries(body).find(([name, value]) => value !== undefined && !fields.includes(name))
  if (other !== undefined) throw invalidField(other[0], 'does not apply to this promotion')
}

/** Both kinds in one list, newest first. */
export async function listAllPromotions(db: Db, page: PageOptions & { readonly at: number }) {
  const { limit, cursor, at } = page
  const more = { limit: limit + 1, at, ...(cursor === undefined ? {} : { cursor }) }
  const [signUp, recharge] = await Promise.all([listPromotions(db, more), rechargePromotionsAfter(db, page)])
  const rows: (Promotion | RechargePromotion)[] = [...signUp.data, ...recharge]
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  return pageOf(sorted, limit, (row) => row) satisfies Page<Promotion | RechargePromotion>
}
