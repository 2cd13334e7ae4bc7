import type { Migration } from './migration.ts'

/**
 * What an account's person has consented to, the saved card, and the order in flight: one row per account. Cards that others
 * have replaced stay until the provider has removed them.
 */
export const automaticRecharge: Migration = {
  version: 33,
  name: 'automatic recharge',
  ddl: `
create table automatic_recharges (
  account_id text primary key references accounts (id),
  state text not null check (state in ('off', 'on', 'paused')),
  method text not null,
  currency text not null,
  threshold_nanos integer check (threshold_nanos > 0),
  amount_minor integer check (amount_minor > 0),
  monthly_limit_minor integer check (monthly_limit_minor >= amount_minor),
  consent_version text,
  consented_at integer,
  consented_by text,
  merchant text,
  card_customer text,
  card_id text,
  card_last_four text,
  problem text,
  failures integer not null,
  next_attempt_at integer,
  last_attempt_at integer,
  order_id text unique,
  created_at integer not null,
  updated_at integer not null,
  check (state = 'off' or (consented_at is not null and card_id is not null))
) strict, without rowid;
create index automatic_recharges_by_card on automatic_recharges (card_customer);
create table replaced_cards (
  method text not null,
  merchant text not null,
  card_id text not null,
  account_id text not null references accounts (id),
  card_customer text not null,
  card_last_four text not null,
  next_attempt_at integer,
  primary key (method, merchant, card_id)
) strict, without rowid;
`,
}
