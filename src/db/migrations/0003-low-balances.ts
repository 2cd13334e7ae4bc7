import type { Migration } from './migration.ts'

/** The balance below which an account is notified, and an index for finding its last credit quickly. */
export const lowBalances: Migration = {
  version: 3,
  name: 'low balances',
  ddl: `
alter table accounts add column low_balance_nanos integer check (low_balance_nanos >= 0);
create index credits_by_account on entries (account_id, id) where reason is not null;
`,
}
