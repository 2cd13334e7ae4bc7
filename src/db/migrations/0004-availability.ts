import type { Migration } from './migration.ts'

/** How a request counted when these tables were created; today's rules are in db/request-outcomes.ts. */
const failedSql = `case
  when outcome = 'truncated' then 1
  when outcome = 'failed' and http_status not in (400, 413, 422) then 1
  when outcome = 'refused' and http_status >= 500 then 1
  when outcome = 'ended' and error_code = 'service_unavailable' then 1
  when outcome = 'aborted' and http_status = 499 and stream = 1 and duration_ms >= 30000 then 1
  else 0 end`
const answeredSql = `case when outcome = 'ok' then 1 else 0 end`

/** Counts the requests that the usage roll-up has already counted; later ones are counted together with usage. */
function backfillSql(table: string, column: string, ms: number): string {
  return `
insert into ${table} (model, ${column}, answered, failed, apart)
select model, (at + duration_ms) - (at + duration_ms) % ${ms}, sum(${answeredSql}), sum(${failedSql}),
  count(*) - sum(${answeredSql}) - sum(${failedSql})
from requests
where row_id <= (select coalesce(max(position), 0) from cursors where name = 'usage_hourly')
  and model in (select id from models)
group by 1, 2;
`
}

/** The availability of each model by minute and by day, the objectives, and the incidents with their updates. */
export const availability: Migration = {
  version: 4,
  name: 'availability and incidents',
  ddl: `
create table availability_minutes (
  model text not null,
  minute integer not null,
  answered integer not null,
  failed integer not null,
  apart integer not null,
  primary key (model, minute)
) strict, without rowid;
create index availability_minutes_by_minute on availability_minutes (minute);
create table availability_days (
  model text not null,
  day integer not null,
  answered integer not null,
  failed integer not null,
  apart integer not null,
  primary key (model, day)
) strict, without rowid;
create index availability_days_by_day on availability_days (day);
${backfillSql('availability_minutes', 'minute', 60_000)}
${backfillSql('availability_days', 'day', 86_400_000)}
create table objectives (
  model text primary key,
  parts_per_million integer not null check (parts_per_million between 500000 and 999999)
) strict, without rowid;
create table incidents (
  id text primary key,
  title text not null,
  status text not null check (status in ('investigating', 'identified', 'monitoring', 'resolved')),
  severity text not null check (severity in ('minor', 'major', 'critical')),
  models text not null,
  watched_model text,
  is_public integer not null,
  opened_at integer not null,
  closed_at integer,
  updated_at integer not null
) strict;
create unique index incidents_open_by_model on incidents (watched_model) where closed_at is null;
create index incidents_by_opened on incidents (opened_at);
create table incident_posts (
  id text primary key,
  incident_id text not null references incidents (id),
  at integer not null,
  status text not null,
  code text,
  message text not null
) strict;
create index incident_posts_by_incident on incident_posts (incident_id, at);
`,
}
