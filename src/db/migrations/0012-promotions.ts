import type { Migration } from './migration.ts'

/** Promotions and their grants, at most one per mailbox and per account. */
export const promotions: Migration = {
  version: 12,
  name: 'promotions',
  ddl: `
create table promotions (
  id text primary key,
  name text not null,
  code text unique,
  amount_nanos integer not null check (amount_nanos > 0),
  starts_at integer not null,
  ends_at integer check (ends_at > starts_at),
  grants_max integer check (grants_max > 0),
  granted integer not null,
  credit_days integer check (credit_days > 0),
  status text not null check (status in ('active', 'paused')),
  created_at integer not null,
  updated_at integer not null
) strict;
create table trial_grants (
  mailbox_hash text primary key,
  account_id text not null unique references accounts (id),
  promotion_id text not null references promotions (id),
  amount_nanos integer not null check (amount_nanos > 0),
  granted_at integer not null,
  expires_at integer,
  spent_before_nanos integer not null,
  taken_nanos integer not null,
  takes integer not null,
  ended_at integer
) strict;
create index trial_grants_running on trial_grants (expires_at) where ended_at is null and expires_at is not null;
create index trial_grants_by_promotion on trial_grants (promotion_id, granted_at);
`,
}
