import type { Migration } from './migration.ts'

/**
 * Recharge by payment. An order is written before its provider is asked; `payments` has each genuine payment once, ever.
 */
export const payments: Migration = {
  version: 31,
  name: 'payments',
  ddl: `
create table payment_orders (
  id text primary key,
  account_id text not null references accounts (id),
  ordered_by text not null,
  method text not null,
  merchant text not null,
  product text,
  currency text not null,
  amount_minor integer not null check (amount_minor > 0),
  fee_minor integer not null check (fee_minor >= 0),
  rate_ppm integer not null check (rate_ppm > 0),
  credit_nanos integer not null check (credit_nanos > 0),
  bonus_nanos integer not null check (bonus_nanos >= 0),
  promotion_id text,
  state text not null check (state in ('created', 'pending', 'paid', 'expired', 'failed', 'canceled')),
  reference text,
  pay text,
  problem text,
  confirmation text,
  client_key text,
  saves_card integer not null,
  automatic integer not null,
  expires_at integer not null,
  next_check_at integer,
  checks integer not null,
  created_at integer not null,
  updated_at integer not null,
  paid_at integer
) strict;
create unique index payment_orders_by_client_key on payment_orders (account_id, client_key) where client_key is not null;
create index payment_orders_by_account on payment_orders (account_id, id);
create index payment_orders_to_check on payment_orders (next_check_at) where next_check_at is not null;
create table payments (
  method text not null,
  merchant text not null,
  transaction_id text not null,
  order_id text not null unique references payment_orders (id),
  account_id text not null references accounts (id),
  currency text not null,
  amount_minor integer not null check (amount_minor > 0),
  credit_nanos integer not null check (credit_nanos > 0),
  bonus_nanos integer not null check (bonus_nanos >= 0),
  payer text,
  paid_at integer not null,
  settled_at integer not null,
  settled_by text not null,
  primary key (method, merchant, transaction_id)
) strict, without rowid;
create index payments_by_account on payments (account_id, settled_at);
create index payments_by_time on payments (settled_at);
create table payment_refunds (
  id text primary key,
  order_id text not null references payment_orders (id),
  account_id text not null references accounts (id),
  state text not null check (state in ('requested', 'debited', 'sent', 'done', 'failed', 'refused', 'unknown')),
  amount_minor integer not null check (amount_minor > 0),
  payment_nanos integer not null check (payment_nanos >= 0),
  bonus_nanos integer not null check (bonus_nanos >= 0),
  reason text not null,
  requested_by text not null,
  decided_by text,
  reference text,
  problem text,
  next_check_at integer,
  checks integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index payment_refunds_by_order on payment_refunds (order_id);
create index payment_refunds_by_account on payment_refunds (account_id, id);
create index payment_refunds_to_check on payment_refunds (next_check_at) where next_check_at is not null;
create table payment_rates (
  currency text not null,
  rate_ppm integer not null check (rate_ppm > 0),
  effective_from integer not null,
  created_at integer not null,
  primary key (currency, effective_from)
) strict, without rowid;
create table payment_disputes (
  method text not null,
  reference text not null,
  order_id text not null references payment_orders (id),
  account_id text not null references accounts (id),
  state text not null check (state in ('open', 'won', 'lost')),
  amount_minor integer not null,
  payment_nanos integer not null,
  bonus_nanos integer not null,
  receivable_nanos integer not null,
  created_at integer not null,
  updated_at integer not null,
  primary key (method, reference)
) strict, without rowid;
create index payment_disputes_by_account on payment_disputes (account_id);
create table payment_runs (
  id text primary key,
  method text not null,
  from_day text not null,
  to_day text not null,
  state text not null check (state in ('done', 'failed')),
  payments integer not null,
  payments_minor integer not null,
  refunds integer not null,
  refunds_minor integer not null,
  fees_minor integer not null,
  repaired integer not null,
  differences integer not null,
  problem text,
  started_at integer not null,
  ended_at integer not null,
  started_by text not null
) strict;
create table payment_differences (
  id text primary key,
  kind text not null,
  method text not null,
  merchant text not null,
  reference text not null,
  order_id text,
  account_id text,
  currency text not null,
  amount_minor integer,
  expected_minor integer,
  detail text not null,
  state text not null check (state in ('open', 'repaired', 'resolved')),
  at integer not null,
  found_at integer not null,
  resolved_at integer,
  resolved_by text,
  action text,
  reason text,
  unique (method, merchant, kind, reference)
) strict;
create index payment_differences_open on payment_differences (id) where state = 'open';
`,
}
