import type { Migration } from './migration.ts'

/** What was tried too often is known to every node, and after a new start. `name` is a hash: it names nobody. */
export const attempts: Migration = {
  version: 17,
  name: 'attempts',
  ddl: `create table attempts (
  name text primary key,
  tries integer not null,
  until integer not null
) strict, without rowid;
create index attempts_by_end on attempts (until);`,
}
