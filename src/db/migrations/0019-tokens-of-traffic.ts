import type { Migration } from './migration.ts'

/**
 * Traffic by hour and model knows its tokens. Those of hours that were counted before are null until traffic-tokens.ts
 * has summed them, beside the relay's work: with many hours that takes longer than a start may. What could not be charged is
 * found without reading every entry, at every start.
 */
export const tokensOfTraffic: Migration = {
  version: 19,
  name: 'tokens of traffic',
  ddl: `
alter table traffic_hourly add column prompt_tokens integer;
alter table traffic_hourly add column completion_tokens integer;
create index traffic_hourly_without_tokens on traffic_hourly (hour) where prompt_tokens is null;
create index entries_of_overruns on entries (id) where kind = 'overrun';
`,
}
