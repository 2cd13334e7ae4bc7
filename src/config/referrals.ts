/** Settings of referrals: rewards for inviting. They are off until one of the two rewards is set. */
import { amountText, duration, inGroup, InvalidSettingError } from '../lib/setting-types.ts'

/** In the platform's currency as decimal text: `fixed`, or `percent` of what the payment credits, at most `max`. */
export interface ReferralReward {
  readonly fixed?: string
  readonly percent?: string
  readonly max?: string
}

const amount = String.raw`\d{1,9}(?:\.\d{1,9})?`
const rewardPattern = new RegExp(String.raw`^(?:(${amount})|(\d{1,3}(?:\.\d{1,4})?)%(?: max (${amount}))?)$`)

const reward = {
  allowed: 'an amount such as `20`, or a percentage such as `10%` or `10% max 50`',
  defaultText: 'none',
  read(text: string | undefined): ReferralReward | null {
    if (text === undefined) return null
    const [match, fixed, percent, max] = rewardPattern.exec(text) ?? []
    const isZero = [fixed, percent, max].some((part) => part !== undefined && !/[1-9]/.test(part))
    if (match === undefined || isZero || Number(percent ?? 0) > 100) throw new InvalidSettingError()
    if (fixed !== undefined) return { fixed }
    return { percent: percent ?? '', ...(max === undefined ? {} : { max }) }
  },
  format(value: ReferralReward | null): string | null {
    if (value === null) return null
    const { fixed, percent, max } = value
    return fixed ?? `${percent}%${max === undefined ? '' : ` max ${max}`}`
  },
}

export const referralSettings = inGroup('Payments', {
  referralRewardReferrer: {
    env: 'REFERRAL_REWARD_REFERRER',
    doc: 'Referrals: what an account gets for inviting another one, in the platform’s currency or in percent of the credit of the first payment. Without this and `REFERRAL_REWARD_INVITED`, referrals are off.',
    ...reward,
  },
  referralRewardInvited: {
    env: 'REFERRAL_REWARD_INVITED',
    doc: 'Referrals: what the invited account gets.',
    ...reward,
  },
  referralMinPayment: {
    env: 'REFERRAL_MIN_PAYMENT',
    doc: 'Referrals: the smallest payment that counts as the first one, by its credit without bonus, in the platform’s currency.',
    ...amountText('10'),
  },
  referralClearAfterMs: {
    env: 'REFERRAL_CLEAR_AFTER',
    doc: 'Referrals: how long after the payment both are rewarded, if it was not refunded or disputed by then.',
    ...duration('14d', 0, 365 * 86_400_000),
  },
  referralMaxMonth: {
    env: 'REFERRAL_MAX_MONTH',
    doc: 'Referrals: the maximum that an account can earn in a calendar month of its time zone, in the platform’s currency. An invitation that would exceed it is refused.',
    ...amountText('500'),
  },
})
