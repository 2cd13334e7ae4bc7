import type { Migration } from './migration.ts'

/** What each search of the web costs that a provider did for an answer. */
export const searchFees: Migration = {
  version: 18,
  name: 'search fees',
  ddl: 'alter table prices add column per_search_nanos integer check (per_search_nanos >= 0);',
}
