/** The migrations from 13 on: each adds a few columns, indexes or a small table. */
import { toPostgresDdl } from '../postgres/sql-text.ts'
import type { Migration } from './migration.ts'

const branding = `
create table branding (
  id text primary key,
  name text,
  logo text,
  colors text,
  links text,
  terms text,
  privacy text,
  support text
) strict, without rowid;
`

/** How the operator presents the service: one row, and in a cluster an entry in the feed of changes. */
const brandingTable: Migration = {
  version: 30,
  name: 'branding',
  ddl: branding,
  postgres: `${toPostgresDdl(branding)}
create trigger branding_noted after insert or delete or update on branding
  for each row execute function note_change('branding', 'id');`,
}

export const additions: readonly Migration[] = [
  /** A separate price for one-hour cache writes. */
  {
    version: 13,
    name: 'hour-long cache writes',
    ddl: `
alter table prices add column cache_write_1h_per_million_nanos integer
  check (cache_write_1h_per_million_nanos >= 0);
`,
  },
  /** Rate limits of a model, for each account that calls it. */
  {
    version: 14,
    name: 'limits of models',
    ddl: `alter table models add column limits text not null default '{}';`,
  },
  /** The one-hour cache writes of a request, which may have a separate price. */
  {
    version: 15,
    name: 'cache writes for an hour',
    ddl: 'alter table requests add column cache_write_1h_tokens integer;',
  },
  /** The sums of deleted request rows by account. */
  {
    version: 16,
    name: 'bills of deleted request rows',
    ddl: `create table dropped_bills (
  account_id text primary key,
  bills integer not null,
  cost_nanos integer not null
) strict, without rowid;`,
  },
  /** Failed sign-in attempts, shared by all nodes and persistent. `name` is a hash and identifies nobody. */
  {
    version: 17,
    name: 'attempts',
    ddl: `create table attempts (
  name text primary key,
  tries integer not null,
  until integer not null
) strict, without rowid;
create index attempts_by_end on attempts (until);`,
  },
  /** The price of each web search that a provider made for a response. */
  {
    version: 18,
    name: 'search fees',
    ddl: 'alter table prices add column per_search_nanos integer check (per_search_nanos >= 0);',
  },
  /**
   * Tokens of traffic by hour and model. In earlier hours they are null until token-backfill.ts has summed them in the
   * background, which may take too long for a start. An index finds overruns without reading every entry at each start.
   */
  {
    version: 19,
    name: 'tokens of traffic',
    ddl: `
alter table traffic_hourly add column prompt_tokens integer;
alter table traffic_hourly add column completion_tokens integer;
create index traffic_hourly_without_tokens on traffic_hourly (hour) where prompt_tokens is null;
create index entries_of_overruns on entries (id) where kind = 'overrun';
`,
  },
  /**
   * Indexes for every sort order and filter of the list of all keys. Deleted keys and the console's internal keys are
   * excluded.
   */
  {
    version: 20,
    name: 'key list',
    ddl: `create index keys_by_name on keys (lower(name), id, name) where deleted_at is null and prefix <> '';
create index keys_by_use on keys (coalesce(last_used_at, 0), id) where deleted_at is null and prefix <> '';
create index keys_disabled on keys (status, id) where status = 'disabled' and deleted_at is null and prefix <> '';
create index keys_by_expiry on keys (expires_at) where expires_at is not null and deleted_at is null and prefix <> '';
create index keys_by_prefix on keys (prefix);`,
  },
  /**
   * How many requests a row stands for: 1, or the number of rejected requests of a key with the same error code in one
   * minute. Not checked by a constraint, for which SQLite would read all rows at the start.
   */
  {
    version: 21,
    name: 'rejection counts',
    ddl: 'alter table requests add column count integer not null default 1;',
  },
  /** Whether responses carry the upstream's name for the model, where it differs from the model's id. */
  {
    version: 22,
    name: 'exposed models',
    ddl: 'alter table routes add column expose_model integer not null default 0;',
  },
  /**
   * What a model costs at an upstream, and how many requests have no known cost. In earlier hours the number is null:
   * counting it would read all request rows at the start.
   */
  {
    version: 23,
    name: 'route costs',
    ddl: `
alter table routes add column prices text;
alter table usage_hourly add column unpriced_requests integer;
alter table traffic_hourly add column unpriced_requests integer;
`,
  },
  /**
   * What the upstream says it served, the time-outs of a model, and whether a route has been seen to obey the maximum of
   * output tokens (catalog/route-maximums.ts).
   */
  {
    version: 24,
    name: 'served models and maximums',
    ddl: `
alter table requests add column model_served text;
alter table requests add column provider_response_id text;
alter table requests add column fingerprint text;
alter table models add column timeouts text not null default '{}';
create table route_maximums (
  upstream_id text not null,
  upstream_model text not null,
  state text not null check (state in ('obeyed', 'exceeded')),
  at integer not null,
  primary key (upstream_id, upstream_model)
) strict, without rowid;
`,
  },
  /** What a model can do, and what a request asked for (catalog/operations.ts); null in earlier rows. */
  {
    version: 25,
    name: 'operations',
    ddl: `
alter table models add column operations text not null default '["chat"]';
alter table requests add column operation text;
`,
  },
  /**
   * Prices by unit (providers/price-units.ts), prices that apply from a later time, and what a request used by unit
   * (providers/request-units.ts).
   */
  {
    version: 26,
    name: 'prices by unit',
    ddl: `
alter table prices add column units text;
alter table prices add column effective_from integer;
alter table requests add column service_tier text;
alter table requests add column units text;
`,
  },
  /** What is added to every request to an upstream: headers, sealed with the row's id, and members of the body. */
  {
    version: 27,
    name: 'added headers and members',
    ddl: `
alter table upstreams add column headers text;
alter table upstreams add column body text;
`,
  },
  /** Where a response is stored whose request asked the provider to store it (usage/response-pins.ts). */
  {
    version: 28,
    name: 'stored responses',
    ddl: `
create table response_pins (
  account_id text not null,
  response_id text not null,
  upstream_id text not null,
  credential_id text not null,
  model text not null,
  tokens integer not null,
  at integer not null,
  primary key (account_id, response_id)
) strict, without rowid;
create index response_pins_by_at on response_pins (at);
`,
  },
  /** The currency of installations that had no choice (db/currency.ts). A new store has neither a data key nor accounts. */
  {
    version: 29,
    name: 'currency',
    ddl: `
insert into settings (name, value) select 'currency', 'CNY'
  where exists (select 1 from settings where name = 'data_key') or exists (select 1 from accounts)
  on conflict (name) do nothing;
`,
  },
  brandingTable,
]
