import type { Migration } from './migration.ts'

/**
 * Rewards for inviting. An account has one code, and is invited once: its row makes it one reward, ever. What both sides
 * get is fixed with the payment that they get it for.
 */
export const referrals: Migration = {
  version: 34,
  name: 'referrals',
  ddl: `
create table referral_codes (
  account_id text primary key references accounts (id),
  code text not null unique,
  created_at integer not null
) strict, without rowid;
create table referrals (
  id text primary key,
  referrer_id text not null references accounts (id),
  invited_id text not null unique references accounts (id),
  state text not null check (state in ('waiting', 'pending', 'rewarded', 'refused', 'taken_back')),
  order_id text unique references payment_orders (id),
  referrer_nanos integer not null check (referrer_nanos >= 0),
  invited_nanos integer not null check (invited_nanos >= 0),
  referrer_taken_nanos integer not null check (referrer_taken_nanos >= 0),
  invited_taken_nanos integer not null check (invited_taken_nanos >= 0),
  reason text,
  decided_by text,
  next_check_at integer,
  rewarded_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create index referrals_by_referrer on referrals (referrer_id, id);
create index referrals_to_check on referrals (next_check_at) where next_check_at is not null;
create index payments_by_payer on payments (payer) where payer is not null;
`,
}
