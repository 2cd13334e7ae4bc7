import type { Migration } from './migration.ts'

/** Notifications, raised once per subject and period, and the channels that each audience prefers. */
export const notifications: Migration = {
  version: 2,
  name: 'notices',
  ddl: `
create table notices (
  row_id integer primary key,
  id text not null unique,
  audience text not null,
  kind text not null,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  subject text not null,
  period text not null,
  code text not null,
  params text not null,
  created_at integer not null,
  read_at integer
) strict;
create unique index notices_once on notices (audience, kind, subject, period);
create index notices_by_audience on notices (audience, row_id);
create table notice_preferences (
  audience text not null,
  kind text not null,
  channels text not null,
  updated_at integer not null,
  primary key (audience, kind)
) strict, without rowid;
`,
}
