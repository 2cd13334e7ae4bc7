import type { Migration } from './migration.ts'

/** Failed sign-in attempts, shared by all nodes and persistent. `name` is a hash and identifies nobody. */
export const loginAttempts: Migration = {
  version: 17,
  name: 'attempts',
  ddl: `create table attempts (
  name text primary key,
  tries integer not null,
  until integer not null
) strict, without rowid;
create index attempts_by_end on attempts (until);`,
}
