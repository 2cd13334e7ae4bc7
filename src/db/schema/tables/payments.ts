/** Orders, payments, refunds and what providers say about them; owned by payments/. Amounts `_minor` are whole minor units. */

export type OrderState = 'created' | 'pending' | 'paid' | 'expired' | 'failed' | 'canceled'
export type RefundState = 'requested' | 'debited' | 'sent' | 'done' | 'failed' | 'refused' | 'unknown'

export interface PaymentOrdersTable {
  id: string
  account_id: string
  /** Who ordered, as the audit log names it. */
  ordered_by: string
  method: string
  merchant: string
  product: string | null
  currency: string
  amount_minor: number
  /** The part of the amount that is not credited. */
  fee_minor: number
  /** The currency's rate into the platform's, in millionths. */
  rate_ppm: number
  credit_nanos: bigint
  bonus_nanos: bigint
  promotion_id: string | null
  state: OrderState
  /** The provider's own name of the order, such as a session. */
  reference: string | null
  /** JSON of the pay instruction; null: the provider has not answered yet. */
  pay: string | null
  /** Why the provider refused it. */
  problem: string | null
  /** JSON of what a first operator entered about a bank transfer that a second one must confirm. */
  confirmation: string | null
  /** Makes repeated calls one order; unique per account. */
  client_key: string | null
  saves_card: 0 | 1
  /** The relay charged a saved card. */
  automatic: 0 | 1
  expires_at: number
  /** null: nothing is left to ask. */
  next_check_at: number | null
  checks: number
  created_at: number
  updated_at: number
  paid_at: number | null
}

/** Genuine payments, once per method, merchant and transaction. */
export interface PaymentsTable {
  method: string
  merchant: string
  transaction_id: string
  order_id: string
  account_id: string
  currency: string
  amount_minor: number
  credit_nanos: bigint
  bonus_nanos: bigint
  /** SHA-256 of what identifies the payer at the provider. */
  payer: string | null
  paid_at: number
  settled_at: number
  /** Who settled it: a notice, the poller, an operator. */
  settled_by: string
}

export interface PaymentRefundsTable {
  id: string
  order_id: string
  account_id: string
  state: RefundState
  amount_minor: number
  payment_nanos: bigint
  bonus_nanos: bigint
  reason: string
  requested_by: string
  decided_by: string | null
  /** The provider's id of the refund, or the serial number of a transfer. */
  reference: string | null
  problem: string | null
  next_check_at: number | null
  checks: number
  created_at: number
  updated_at: number
}

export interface PaymentRatesTable {
  currency: string
  rate_ppm: number
  effective_from: number
  created_at: number
}

export interface PaymentDisputesTable {
  method: string
  reference: string
  order_id: string
  account_id: string
  state: 'open' | 'won' | 'lost'
  amount_minor: number
  payment_nanos: bigint
  bonus_nanos: bigint
  /** What was not there to take back. */
  receivable_nanos: bigint
  created_at: number
  updated_at: number
}

export interface PaymentRunsTable {
  id: string
  method: string
  from_day: string
  to_day: string
  state: 'running' | 'done' | 'failed'
  payments: number
  payments_minor: number
  refunds: number
  refunds_minor: number
  fees_minor: number
  repaired: number
  differences: number
  problem: string | null
  started_at: number
  ended_at: number | null
  started_by: string
}

export interface PaymentDifferencesTable {
  id: string
  kind: string
  method: string
  merchant: string
  /** The provider's id of what differs; with kind and merchant it is listed once. */
  reference: string
  order_id: string | null
  account_id: string | null
  currency: string
  /** At the provider. */
  amount_minor: number | null
  /** Here. */
  expected_minor: number | null
  detail: string
  state: 'open' | 'repaired' | 'resolved'
  at: number
  found_at: number
  resolved_at: number | null
  resolved_by: string | null
  action: string | null
  reason: string | null
}

export interface RechargePromotionsTable {
  id: string
  name: string
  starts_at: number
  ends_at: number | null
  /** JSON: [{min, fixed} or {min, percent, max?}], amounts as decimal text in the platform's currency. */
  tiers: string
  first_only: 0 | 1
  /** null: no limit. */
  budget_nanos: bigint | null
  per_account_nanos: bigint | null
  /** Reserved by open orders, or granted to paid ones. */
  used_nanos: bigint
  status: 'active' | 'paused'
  created_at: number
  updated_at: number
}

export interface RechargeBonusesTable {
  order_id: string
  promotion_id: string
  account_id: string
  amount_nanos: bigint
  /** Whether it is for a first recharge: an account is granted one at most. */
  first_only: 0 | 1
  state: 'reserved' | 'granted' | 'released'
}

export interface PaymentTables {
  recharge_promotions: RechargePromotionsTable
  recharge_bonuses: RechargeBonusesTable
  payment_orders: PaymentOrdersTable
  payments: PaymentsTable
  payment_refunds: PaymentRefundsTable
  payment_rates: PaymentRatesTable
  payment_disputes: PaymentDisputesTable
  payment_runs: PaymentRunsTable
  payment_differences: PaymentDifferencesTable
}
