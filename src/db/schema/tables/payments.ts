/** Orders, payments, refunds and what providers say about them; owned by payments/. Amounts `_minor` are whole minor units. */

import type { MethodName } from '../../../config/payments.ts'

export type OrderState = 'created' | 'pending' | 'paid' | 'expired' | 'failed' | 'canceled'
export type RefundState = 'requested' | 'debited' | 'sent' | 'done' | 'failed' | 'refused' | 'unknown'

export type DifferenceKind =
  | 'paid_there_only'
  | 'paid_here_only'
  | 'amount'
  | 'refund_there_only'
  | 'refund_here_only'
  | 'unknown_order'
  | 'surplus'
  | 'dispute'

export interface PaymentOrdersTable {
  id: string
  account_id: string
  /** Who ordered, as the audit log names it. */
  ordered_by: string
  method: MethodName
  merchant: string
  product: string | null
  currency: string
  amount_minor: bigint
  /** The part of the amount that is not credited. */
  fee_minor: bigint
  /** The currency's rate into the platform's, in millionths. */
  rate_ppm: number
  credit_nanos: bigint
  bonus_nanos: bigint
  promotion_id: string | null
  state: OrderState
  /** The provider's own name of the order, such as a session. */
  reference: string | null
  /** JSON of the pay instruction; null: the provider has not responded yet. */
  pay: string | null
  /** Why the provider refused it. */
  problem: string | null
  /** JSON of what a first operator entered about a bank transfer that a second one must confirm. */
  confirmation: string | null
  /** Makes repeated calls one order; unique per account. */
  client_key: string | null
  /** The payer agreed to save the card for automatic recharges. */
  saves_card: 0 | 1
  /** The relay charges a saved card. */
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
  method: MethodName
  merchant: string
  transaction_id: string
  order_id: string
  account_id: string
  currency: string
  amount_minor: bigint
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
  amount_minor: bigint
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
  method: MethodName
  reference: string
  order_id: string
  account_id: string
  state: 'open' | 'won' | 'lost'
  amount_minor: bigint
  payment_nanos: bigint
  bonus_nanos: bigint
  /** What was not there to take back. */
  receivable_nanos: bigint
  created_at: number
  updated_at: number
}

export interface PaymentRunsTable {
  id: string
  method: MethodName
  from_day: string
  to_day: string
  state: 'done' | 'failed'
  payments: number
  payments_minor: bigint
  refunds: number
  refunds_minor: bigint
  fees_minor: bigint
  repaired: number
  differences: number
  problem: string | null
  started_at: number
  ended_at: number
  started_by: string
}

export interface PaymentDifferencesTable {
  id: string
  kind: DifferenceKind
  method: MethodName
  merchant: string
  /** The provider's id of what differs; with kind and merchant it is listed once. */
  reference: string
  order_id: string | null
  account_id: string | null
  currency: string
  /** At the provider. */
  amount_minor: bigint | null
  /** Here. */
  expected_minor: bigint | null
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

/** One row per account: what its person has consented to, the saved card, and the order in flight. */
export interface AutomaticRechargesTable {
  account_id: string
  /** `on` and `paused` require consent and a card. `off` with a consent: a card is still missing. */
  state: 'off' | 'on' | 'paused'
  method: MethodName
  /** Of the amount and the monthly limit. */
  currency: string
  threshold_nanos: bigint | null
  amount_minor: bigint | null
  monthly_limit_minor: bigint | null
  /** The version of the text that was shown; null: no consent. */
  consent_version: string | null
  consented_at: number | null
  consented_by: string | null
  /** Where the card is saved. */
  merchant: string | null
  card_customer: string | null
  card_id: string | null
  card_last_four: string | null
  /** Why the last attempt failed, or why it is not on. */
  problem: string | null
  /** Declined attempts in a row. */
  failures: number
  /** null: as soon as the threshold is passed. */
  next_attempt_at: number | null
  last_attempt_at: number | null
  /** The order in flight. */
  order_id: string | null
  created_at: number
  updated_at: number
}

/** A card that another one has replaced, until its provider has removed it. */
export interface ReplacedCardsTable {
  method: MethodName
  merchant: string
  card_id: string
  account_id: string
  card_customer: string
  card_last_four: string
  /** null: as soon as possible. */
  next_attempt_at: number | null
}

export interface PaymentTables {
  automatic_recharges: AutomaticRechargesTable
  replaced_cards: ReplacedCardsTable
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
