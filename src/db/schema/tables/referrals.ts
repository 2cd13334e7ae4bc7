/** Who invited whom, and what both get for it; owned by payments/. */

/**
 * `waiting` for a payment that counts; `pending`: paid, and not yet cleared; `rewarded`; `refused`: nobody gets anything;
 * `taken_back`: rewarded, and the payment went back.
 */
export type ReferralState = 'waiting' | 'pending' | 'rewarded' | 'refused' | 'taken_back'

export interface ReferralCodesTable {
  account_id: string
  code: string
  created_at: number
}

export interface ReferralsTable {
  id: string
  referrer_id: string
  /** An account is invited once. */
  invited_id: string
  state: ReferralState
  /** The payment that counts. */
  order_id: string | null
  referrer_nanos: bigint
  invited_nanos: bigint
  referrer_taken_nanos: bigint
  invited_taken_nanos: bigint
  /** Why it was refused or taken back: a code, or the text of an operator. */
  reason: string | null
  decided_by: string | null
  /** null: nothing is left to decide. */
  next_check_at: number | null
  rewarded_at: number | null
  created_at: number
  updated_at: number
}

export interface ReferralTables {
  referral_codes: ReferralCodesTable
  referrals: ReferralsTable
}
