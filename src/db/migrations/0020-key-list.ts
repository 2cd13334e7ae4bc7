import type { Migration } from './migration.ts'

/**
 * The keys of all accounts in every order that a list of them has, and by what is looked for. Deleted ones and those of
 * the console, whose secrets nobody has seen, are not in it.
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
