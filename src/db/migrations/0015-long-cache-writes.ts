import type { Migration } from './migration.ts'

/** Of a request's cache writes, those that the provider keeps for an hour: they may have a price of their own. */
export const longCacheWrites: Migration = {
  version: 15,
  name: 'cache writes for an hour',
  ddl: 'alter table requests add column cache_write_1h_tokens integer;',
}
