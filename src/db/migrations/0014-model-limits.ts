import type { Migration } from './migration.ts'

/** Rate limits of a model, for each account that calls it. */
export const modelLimits: Migration = {
  version: 14,
  name: 'limits of models',
  ddl: `alter table models add column limits text not null default '{}';`,
}
