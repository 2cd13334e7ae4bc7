import type { Migration } from './migration.ts'

/** The price of each web search that a provider made for a response. */
export const searchFees: Migration = {
  version: 18,
  name: 'search fees',
  ddl: 'alter table prices add column per_search_nanos integer check (per_search_nanos >= 0);',
}
