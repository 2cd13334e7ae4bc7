import type { Migration } from './migration.ts'

/** Bonuses for recharges. `used_nanos` counts what is reserved by open orders and granted to paid ones. */
export const rechargePromotions: Migration = {
  version: 32,
  name: 'recharge promotions',
  ddl: `
create table recharge_promotions (
  id text primary key,
  name text not null,
  starts_at integer not null,
  ends_at integer check (ends_at > starts_at),
  tiers text not null,
  first_only integer not null,
  budget_nanos integer check (budget_nanos > 0),
  per_account_nanos integer check (per_account_nanos > 0),
  used_nanos integer not null check (used_nanos >= 0),
  status text not null check (status in ('active', 'paused')),
  created_at integer not null,
  updated_at integer not null
) strict;
create table recharge_bonuses (
  order_id text primary key,
  promotion_id text not null references recharge_promotions (id),
  account_id text not null references accounts (id),
  amount_nanos integer not null check (amount_nanos > 0),
  first_only integer not null,
  state text not null check (state in ('reserved', 'granted', 'released'))
) strict, without rowid;
create index recharge_bonuses_by_account on recharge_bonuses (promotion_id, account_id);
create unique index recharge_bonuses_first on recharge_bonuses (account_id) where first_only = 1 and state = 'granted';
`,
}
