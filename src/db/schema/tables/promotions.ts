/** How money comes in beside an operator's own credits: written by the room ledger/. */

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
  /** null: not known to be in the ledger. */
  entered_at: number | null
}

export interface PromotionsTable {
  id: string
  name: string
  /** Who names it gets it; null: everybody, unless they name another. */
  code: string | null
  amount_nanos: bigint
  starts_at: number
  ends_at: number | null
  grants_max: number | null
  granted: number
  /** After so many days what is left of a credit is taken back. */
  credit_days: number | null
  status: 'active' | 'paused'
  created_at: number
  updated_at: number
}

export interface TrialGrantsTable {
  /** SHA-256 in hex of the mailbox: it stays when the account's address changes. */
  mailbox_hash: string
  account_id: string
  promotion_id: string
  amount_nanos: bigint
  granted_at: number
  expires_at: number | null
  /** All that the account had spent before. */
  spent_before_nanos: bigint
  /** What was taken back since its end, in so many entries. */
  taken_nanos: bigint
  takes: number
  ended_at: number | null
}

export interface ProgrammeTables {
  vouchers: VouchersTable
  credit_orders: CreditOrdersTable
  promotions: PromotionsTable
  trial_grants: TrialGrantsTable
}

export const programmeOwners = {
  vouchers: 'ledger',
  credit_orders: 'ledger',
  promotions: 'ledger',
  trial_grants: 'ledger',
} as const satisfies Record<keyof ProgrammeTables, string>
