import type { Migration } from './migration.ts'

/**
 * How many requests a row stands for: 1, or the number of rejected requests of a key with the same error code in one
 * minute. Not checked by a constraint, for which SQLite would read all rows at the start.
 */
export const rejectionCounts: Migration = {
  version: 21,
  name: 'rejection counts',
  ddl: 'alter table requests add column count integer not null default 1;',
}
