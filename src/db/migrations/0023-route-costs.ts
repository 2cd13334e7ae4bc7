import type { Migration } from './migration.ts'

/**
 * What a model costs at an upstream, and how many requests have no known cost. In earlier hours the number is null:
 * counting it would read all request rows at the start.
 */
export const routeCosts: Migration = {
  version: 23,
  name: 'route costs',
  ddl: `
alter table routes add column prices text;
alter table usage_hourly add column unpriced_requests integer;
alter table traffic_hourly add column unpriced_requests integer;
`,
}
