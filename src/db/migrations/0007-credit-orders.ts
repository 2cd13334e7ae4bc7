import type { Migration } from './migration.ts'

/**
 * Credits that are recorded together with their reason (a redeemed voucher, a promotion's grant, a refund) and entered
 * into the ledger afterwards, exactly once, by their id; revoked vouchers; and the tier after the first payment.
 */
export const creditOrders: Migration = {
  version: 7,
  name: 'credit orders',
  ddl: `
create table credit_orders (
  id text primary key,
  account_id text not null references accounts (id),
  amount_nanos integer not null check (amount_nanos > 0),
  source text not null,
  reason text not null,
  created_at integer not null,
  entered_at integer
) strict;
create index credit_orders_open on credit_orders (created_at) where entered_at is null;
alter table vouchers add column revoked_at integer;
create index vouchers_by_account on vouchers (redeemed_by) where redeemed_by is not null;
alter table accounts add column first_paid_at integer;
alter table tiers add column after_payment text references tiers (name);
update tiers set after_payment = 'standard' where name = 'new';
`,
}
