/** `/referrals`: who invited whom, and the rewards for it. */
import { z } from '@hono/zod-openapi'
import { formatAmount } from '../../../lib/money.ts'
import { listReferrals, refuseReferral, type Referral } from '../../../payments/referrals.ts'
import { view } from '../../api/define-endpoints.ts'
import { formatTime } from '../../api/json-values.ts'
import { referralCursor, referralState } from '../../api/referrals.ts'
import { currencyColumn } from '../../csv-export.ts'
import { admin } from '../admin-context.ts'
import { money, time } from '../schemas.ts'

export const referralSchema = z
  .object({
    id: z.string(),
    referrer: z.string().meta({ description: 'The account that invited.' }),
    invited: z.string().meta({ description: 'The account that was invited.' }),
    state: referralState,
    reason: z.string().nullable().meta({
      description:
        'Why it was refused or taken back: `suspended`, `same_person`, `same_payer`, `monthly_maximum`, `refunded`, `disputed`, or the text of an operator.',
    }),
    order: z.string().nullable().meta({ description: 'The first payment of the invited account.' }),
    referrer_reward: money.meta({ description: 'Fixed with the first payment, as is `invited_reward`.' }),
    invited_reward: money,
    referrer_taken: money.meta({ description: 'What was taken back of it.' }),
    invited_taken: money,
    decided_by: z.string().nullable(),
    created_at: time,
    due_at: time.nullable().meta({ description: 'When it is decided, or looked at again.' }),
    rewarded_at: time.nullable(),
    updated_at: time,
  })
  .openapi('Referral')

const referralView = view('referral', referralSchema, (referral: Referral) => ({
  id: referral.id,
  referrer: referral.referrerId,
  invited: referral.invitedId,
  state: referral.state,
  reason: referral.reason,
  order: referral.orderId,
  referrer_reward: formatAmount(referral.referrerNanos),
  invited_reward: formatAmount(referral.invitedNanos),
  referrer_taken: formatAmount(referral.referrerTakenNanos),
  invited_taken: formatAmount(referral.invitedTakenNanos),
  decided_by: referral.decidedBy,
  created_at: formatTime(referral.createdAt),
  due_at: formatTime(referral.nextCheckAt),
  rewarded_at: formatTime(referral.rewardedAt),
  updated_at: formatTime(referral.updatedAt),
}))

export const referralEndpoints = [
  admin.page('/referrals', {
    summary: 'List referrals, newest first',
    item: referralView,
    filters: {
      referrer: z.string().optional(),
      invited: z.string().optional(),
      state: referralState.optional(),
    },
    cursor: referralCursor,
    csv: [
      'id',
      'referrer',
      'invited',
      'state',
      'reason',
      'order',
      'referrer_reward',
      'invited_reward',
      'referrer_taken',
      'invited_taken',
      currencyColumn,
      'created_at',
      'rewarded_at',
      'decided_by',
    ],
    handle: ({ ctx, query: { referrer, invited, state }, page }) =>
      listReferrals(ctx.db, { referrer, invited, state }, page),
  }),
  admin.post('/referrals/{id}/refuse', {
    summary: 'Refuse a referral that is not rewarded yet',
    body: z.strictObject({ reason: z.string().trim().min(1).max(500) }),
    response: referralView,
    handle: ({ ctx, by, params, body }) =>
      refuseReferral(ctx.db, params.id, { reason: body.reason, by, at: Date.now() }),
  }),
]
