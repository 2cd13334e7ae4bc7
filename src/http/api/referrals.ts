/** What the referrals of the admin API and the console API share. */
import { z } from '@hono/zod-openapi'
import { referralStates } from '../../payments/referrals.ts'

export const referralState = z.enum(referralStates).meta({
  description:
    '`waiting` for a payment; `pending` until it has cleared; `rewarded`; `refused`; `taken_back`, because the payment was refunded or disputed.',
})

export const referralCursor = /^ref_[0-9a-z]{26}$/
