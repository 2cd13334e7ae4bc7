import type { Migration } from './migration.ts'

/**
 * Indexes for every sort order and filter of the list of all keys. Deleted keys and the console's internal keys are
 * excluded.
 */
export const keyList: Migration = {
  version: 20,
  name: 'key list',
  ddl: `create index keys_by_name on keys (lower(name), id, name) where deleted_at is null and prefix <> '';
create index keys_by_use on keys (coalesce(last_used_at, 0), id) where deleted_at is null and prefix <> '';
create index keys_disabled on keys (status, id) where status = 'disabled' and deleted_at is null and prefix <> '';
create index keys_by_expiry on keys (expires_at) where expires_at is not null and deleted_at is null and prefix <> '';
create index keys_by_prefix on keys (prefix);`,
}
