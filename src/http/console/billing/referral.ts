/** An account's own referrals: its link, what an invitation earns, and what became of those that it has made. */
import { z } from 'zod'
import type { Config } from '../../../config.ts'
import type { ReferralReward } from '../../../config/referrals.ts'
import { formatAmount } from '../../../lib/money.ts'
import { areReferralsOn, referralCodeOf } from '../../../payments/referral-codes.ts'
import { listReferrals, referralSums, type Referral } from '../../../payments/referrals.ts'
import { decodeCursor, encodeCursor, formatTime } from '../../api/json-values.ts'
import { money, pageFields, pageOf, time } from '../../api/json-schemas.ts'
import { referralCursor, referralState } from '../../api/referrals.ts'
import { publicUrlOf } from '../../public-urls.ts'
import { customer } from '../context.ts'

const dayMs = 86_400_000

/** Either `fixed`, or `percent` of the credit of the payment, at most `max`. null: this side gets nothing. */
const reward = z
  .object({ fixed: money.optional(), percent: z.string().optional(), max: money.optional() })
  .nullable()

const referralSchema = z.object({
  /** null: referrals are off, or nobody can sign up. */
  offer: z
    .object({
      code: z.string(),
      link: z.string(),
      referrer_reward: reward,
      invited_reward: reward,
      min_payment: money,
      clear_after_days: z.int(),
      max_month: money,
    })
    .nullable(),
  /** How many accounts this one has invited. */
  invited: z.int(),
  /** Net of what was taken back. */
  earned: money,
  pending: money,
})
export type ReferralSummary = z.infer<typeof referralSchema>

/** Nothing about the invited account but that it is there. */
const invitedSchema = z.object({
  id: z.string(),
  state: referralState,
  /** For the referrer; 0 before the payment that counts. */
  reward: money,
  created_at: time,
})
export type InvitedAccount = z.infer<typeof invitedSchema>

const rewardJson = (own: ReferralReward | null): z.infer<typeof reward> => own && { ...own }

function offerOf(config: Config, code: string): ReferralSummary['offer'] {
  return {
    code,
    link: `${publicUrlOf(config)}/console/sign-up?referral=${code}`,
    referrer_reward: rewardJson(config.referralRewardReferrer),
    invited_reward: rewardJson(config.referralRewardInvited),
    min_payment: config.referralMinPayment,
    clear_after_days: Math.ceil(config.referralClearAfterMs / dayMs),
    max_month: config.referralMaxMonth,
  }
}

function invitedJson({ id, state, referrerNanos, referrerTakenNanos, createdAt }: Referral): InvitedAccount {
  const nanos = state === 'refused' ? 0n : referrerNanos - referrerTakenNanos
  return { id, state, reward: formatAmount(nanos), created_at: formatTime(createdAt) }
}

export const referralEndpoints = {
  referral: customer.get('/referral', {
    response: referralSchema,
    async handle({ ctx: { config, db }, accountId }) {
      const isOffered = areReferralsOn(config) && config.signUp !== 'closed'
      const { invited, earnedNanos, pendingNanos } = await referralSums(db, accountId)
      return {
        offer: isOffered ? offerOf(config, await referralCodeOf(db, accountId)) : null,
        invited,
        earned: formatAmount(earnedNanos),
        pending: formatAmount(pendingNanos),
      }
    },
  }),
  invited: customer.get('/referral/invited', {
    query: pageFields,
    response: pageOf(invitedSchema),
    async handle({ ctx, accountId, query }) {
      const page = { limit: query.limit, cursor: decodeCursor(query.cursor, referralCursor) }
      const { data, next } = await listReferrals(ctx.db, { referrer: accountId }, page)
      return { data: data.map(invitedJson), next: encodeCursor(next) }
    },
  }),
}
