import type { Migration } from './migration.ts'

/** The sums of deleted request rows by account. */
export const droppedBills: Migration = {
  version: 16,
  name: 'bills of deleted request rows',
  ddl: `create table dropped_bills (
  account_id text primary key,
  bills integer not null,
  cost_nanos integer not null
) strict, without rowid;`,
}
