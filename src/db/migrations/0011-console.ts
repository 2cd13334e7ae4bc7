import type { Migration } from './migration.ts'

/**
 * Data for the console's pages: the columns of a request that explain its bill, roll-ups of latency, traffic and
 * failures, limit requests and announcements.
 */
export const consoleTables: Migration = {
  version: 11,
  name: 'what the console reads',
  ddl: `
alter table requests add column cache_write_tokens integer;
alter table requests add column factor_ppm integer;
alter table requests add column balance_nanos integer;
alter table requests add column fault text;
alter table requests add column fault_upstream text;
create index requests_not_ok on requests (account_id, at) where outcome <> 'ok';
create index entries_of_credits on entries (account_id, id) where kind = 'credit';
create index usage_hourly_by_key on usage_hourly (key_id, hour);
create table traffic_hourly (
  hour integer not null,
  model text not null,
  requests integer not null,
  errors integer not null,
  cost_nanos integer not null,
  upstream_cost_nanos integer not null,
  primary key (hour, model)
) strict, without rowid;
insert into traffic_hourly
select hour, model, sum(requests), sum(errors), sum(cost_nanos), sum(upstream_cost_nanos) from usage_hourly group by 1, 2;
create table latency_daily (
  account_id text not null,
  day integer not null,
  model text not null,
  measure text not null,
  bucket integer not null,
  requests integer not null,
  primary key (account_id, day, model, measure, bucket)
) strict, without rowid;
create table failures_hourly (
  hour integer not null,
  cause text not null,
  upstream_id text not null,
  model text not null,
  http_status integer not null,
  requests integer not null,
  first_at integer not null,
  last_at integer not null,
  sample text not null,
  primary key (hour, cause, upstream_id, model, http_status)
) strict, without rowid;
create table limit_requests (
  id text primary key,
  account_id text not null references accounts (id),
  wanted text not null,
  reason text not null,
  status text not null check (status in ('open', 'granted', 'declined')),
  answer text,
  created_at integer not null,
  answered_at integer
) strict;
create unique index limit_requests_open on limit_requests (account_id) where status = 'open';
create index limit_requests_by_account on limit_requests (account_id, id);
create table announcements (
  id text primary key,
  title text not null,
  message text not null,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  begins_at integer not null,
  ends_at integer,
  created_at integer not null
) strict;
`,
}
