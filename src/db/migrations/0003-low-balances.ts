import type { Migration } from './migration.ts'

/** From which balance on an account hears of it, and a way to its last credit that is short however much it spent since. */
export const lowBalances: Migration = {
  version: 3,
  name: 'low balances',
  ddl: `
alter table accounts add column low_balance_nanos integer check (low_balance_nanos >= 0);
create index credits_by_account on entries (account_id, id) where reason is not null;
`,
}
