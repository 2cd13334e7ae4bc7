import type { Migration } from './migration.ts'

const accounts = `
create table tiers (
  name text primary key,
  rpm integer, tpm integer, rpd integer, concurrency integer,
  price_factor_ppm integer not null default 1000000
) strict;
create table accounts (
  id text primary key,
  email text not null,
  email_normalised text not null unique,
  name text not null,
  tier text not null references tiers (name),
  status text not null check (status in ('active', 'suspended')),
  timezone text not null,
  price_factor_ppm integer,
  cap_daily_nanos integer check (cap_daily_nanos >= 0),
  cap_monthly_nanos integer check (cap_monthly_nanos >= 0),
  limits text not null,
  trial integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create table keys (
  id text primary key,
  account_id text not null references accounts (id),
  name text not null,
  hash text not null unique,
  prefix text not null,
  last_four text not null,
  status text not null check (status in ('active', 'disabled')),
  expires_at integer,
  models text,
  ips text,
  cap_daily_nanos integer check (cap_daily_nanos >= 0),
  cap_monthly_nanos integer check (cap_monthly_nanos >= 0),
  cap_total_nanos integer check (cap_total_nanos >= 0),
  limits text not null,
  created_at integer not null,
  last_used_at integer,
  deleted_at integer
) strict;
create index keys_by_account on keys (account_id, id);
`

/** Requests and tokens per minute, requests per day, concurrent requests. Defaults that operators change in place. */
const tiers = `
insert into tiers (name, rpm, tpm, rpd, concurrency) values
  ('new', 60, 100000, 1000, 10),
  ('standard', 600, 2000000, 50000, 100),
  ('enterprise', null, null, null, null);
`

const catalog = `
create table upstreams (
  id text primary key,
  name text not null unique,
  provider text not null,
  base_url text not null,
  credential text not null,
  proxy text,
  priority integer not null,
  weight integer not null check (weight >= 0),
  prices text,
  timeouts text not null,
  on_abort text not null check (on_abort in ('cancel', 'drain')),
  enabled integer not null,
  settings text not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create table models (
  id text primary key,
  context_tokens integer not null check (context_tokens > 0),
  max_output_tokens integer check (max_output_tokens > 0),
  hidden_reasoning integer not null,
  owned_by text not null,
  listed integer not null,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create table prices (
  version integer primary key autoincrement,
  model_id text not null references models (id),
  effective_at integer not null,
  free integer not null,
  input_per_million_nanos integer not null check (input_per_million_nanos >= 0),
  output_per_million_nanos integer not null check (output_per_million_nanos >= 0),
  cached_input_per_million_nanos integer check (cached_input_per_million_nanos >= 0),
  cache_write_per_million_nanos integer check (cache_write_per_million_nanos >= 0),
  reasoning_per_million_nanos integer check (reasoning_per_million_nanos >= 0),
  per_request_nanos integer not null check (per_request_nanos >= 0)
) strict;
create index prices_by_model on prices (model_id, version);
create table routes (
  model_id text not null references models (id),
  upstream_id text not null references upstreams (id),
  upstream_model text not null,
  priority integer,
  weight integer check (weight >= 0),
  primary key (model_id, upstream_id, upstream_model)
) strict, without rowid;
create index routes_by_upstream on routes (upstream_id);
`

const money = `
create table vouchers (
  code_hash text primary key,
  amount_nanos integer not null check (amount_nanos > 0),
  expires_at integer,
  created_at integer not null,
  redeemed_at integer,
  redeemed_by text references accounts (id)
) strict;
create table journal (
  seq integer primary key,
  at integer not null,
  body text not null,
  prev blob not null,
  hash blob not null
) strict;
create trigger journal_stays before update on journal begin select raise(abort, 'the journal is append-only'); end;
create table checkpoints (
  seq integer primary key,
  at integer not null,
  holds text not null
) strict;
create table entries (
  id integer primary key,
  seq integer not null,
  at integer not null,
  debit text not null,
  credit text not null,
  amount_nanos integer not null check (amount_nanos >= 0),
  kind text not null,
  account_id text,
  ref text,
  reason text,
  source text
) strict;
create index entries_by_account on entries (account_id, id);
create index entries_by_ref on entries (ref) where reason is not null;
create trigger entries_stay before update on entries begin select raise(abort, 'entries are append-only'); end;
create trigger entries_remain before delete on entries begin select raise(abort, 'entries are append-only'); end;
create table owners (
  id text primary key,
  balance_nanos integer not null,
  day_end integer not null,
  day_spent_nanos integer not null,
  day_requests integer not null,
  month_end integer not null,
  month_spent_nanos integer not null,
  total_spent_nanos integer not null,
  flags integer not null
) strict, without rowid;
`

const usage = `
create table requests (
  row_id integer primary key,
  request_id text not null unique,
  at integer not null,
  account_id text not null,
  key_id text not null,
  model text not null,
  upstream_id text,
  http_status integer not null,
  outcome text not null,
  stream integer not null,
  finish text,
  prompt_tokens integer not null,
  cached_tokens integer not null,
  completion_tokens integer not null,
  reasoning_tokens integer not null,
  usage_source text,
  cost_nanos integer not null,
  upstream_cost_nanos integer,
  first_token_ms integer,
  duration_ms integer not null,
  attempts text not null,
  error_code text,
  hold_nanos integer not null,
  price_version integer
) strict;
create index requests_by_at on requests (at);
create index requests_by_account on requests (account_id, at);
create index requests_by_key on requests (key_id, at);
create index requests_by_model on requests (model, at);
create table usage_hourly (
  hour integer not null,
  account_id text not null,
  key_id text not null,
  model text not null,
  requests integer not null,
  errors integer not null,
  prompt_tokens integer not null,
  completion_tokens integer not null,
  cost_nanos integer not null,
  upstream_cost_nanos integer not null,
  primary key (hour, account_id, key_id, model)
) strict, without rowid;
create index usage_hourly_by_account on usage_hourly (account_id, hour);
create table audit (
  id integer primary key,
  at integer not null,
  actor text not null,
  action text not null,
  object text not null,
  detail text not null
) strict;
create index audit_by_object on audit (object, id);
create trigger audit_stays before update on audit begin select raise(abort, 'the audit log is append-only'); end;
create trigger audit_remains before delete on audit begin select raise(abort, 'the audit log is append-only'); end;
create table cursors (name text primary key, position integer not null) strict, without rowid;
create table settings (name text primary key, value text not null) strict, without rowid;
`

/** Accounts and keys, the catalogue, the ledger, request rows and the audit log. */
export const initialSchema: Migration = {
  version: 1,
  name: 'the first schema',
  ddl: accounts + tiers + catalog + money + usage,
}
