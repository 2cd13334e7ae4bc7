import type { Migration } from './migration.ts'

/** The one-hour cache writes of a request, which may have a separate price. */
export const longCacheWrites: Migration = {
  version: 15,
  name: 'cache writes for an hour',
  ddl: 'alter table requests add column cache_write_1h_tokens integer;',
}
