import type { Migration } from './migration.ts'

/** A separate price for one-hour cache writes. */
export const hourLongCacheWrites: Migration = {
  version: 13,
  name: 'hour-long cache writes',
  ddl: `
alter table prices add column cache_write_1h_per_million_nanos integer
  check (cache_write_1h_per_million_nanos >= 0);
`,
}
