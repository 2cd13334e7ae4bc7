/** Vouchers, promotions and other sources of credit; owned by ledger/. */

export interface VouchersTable {
  code_hash: string
  amount_nanos: bigint
  expires_at: number | null
  created_at: number
  redeemed_at: number | null
  redeemed_by: string | null
  revoked_at: number | null
}

export interface CreditOrdersTable {
  /** The credit's id in the ledger. */
  id: string
  account_id: string
  amount_nanos: bigint
  source: string
  reason: string
  created_at: number
  /** null: not yet confirmed in the ledger. */
  entered_at: number | null
}

export interface PromotionsTable {
  id: string
  name: string
  /** The code that claims it; null: applies to everyone who gives no other code. */
  code: string | null
  amount_nanos: bigint
  starts_at: number
  ends_at: number | null
  grants_max: number | null
  granted: number
  /** After this many days the rest of the credit is revoked. */
  credit_days: number | null
  status: 'active' | 'paused'
  created_at: number
  updated_at: number
}

export interface TrialGrantsTable {
  /** SHA-256 of the mailbox in hex; unchanged when the account's e-mail address changes. */
  mailbox_hash: string
  account_id: string
  promotion_id: string
  amount_nanos: bigint
  granted_at: number
  expires_at: number | null
  /** The account's total spending before the grant. */
  spent_before_nanos: bigint
  /** The amount revoked since its end, in `takes` entries. */
  taken_nanos: bigint
  takes: number
  ended_at: number | null
}

export interface PromotionTables {
  vouchers: VouchersTable
  credit_orders: CreditOrdersTable
  promotions: PromotionsTable
  trial_grants: TrialGrantsTable
}
