import type { Migration } from './migration.ts'

/** Whether responses carry the upstream's name for the model, where it differs from the model's id. */
export const exposedModels: Migration = {
  version: 22,
  name: 'exposed models',
  ddl: 'alter table routes add column expose_model integer not null default 0;',
}
