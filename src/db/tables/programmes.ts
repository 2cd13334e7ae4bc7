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
