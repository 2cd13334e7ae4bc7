import type { Migration } from './migration.ts'

/**
 * Tokens of traffic by hour and model. In earlier hours they are null until token-backfill.ts has summed them in the
 * background, which may take too long for a start. An index finds overruns without reading every entry at each start.
 */
export const trafficTokens: Migration = {
  version: 19,
  name: 'tokens of traffic',
  ddl: `
alter table traffic_hourly add column prompt_tokens integer;
alter table traffic_hourly add column completion_tokens integer;
create index traffic_hourly_without_tokens on traffic_hourly (hour) where prompt_tokens is null;
create index entries_of_overruns on entries (id) where kind = 'overrun';
`,
}
