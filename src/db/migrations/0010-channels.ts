import type { Migration } from './migration.ts'

/** Notification channels and their outbox, and the state of our public addresses. */
export const channels: Migration = {
  version: 10,
  name: 'channels',
  ddl: `
alter table notices add column queued_at integer;
update notices set queued_at = created_at;
create index notices_to_queue on notices (row_id) where queued_at is null;
create table channels (
  id text primary key,
  audience text not null,
  name text not null,
  kind text not null,
  target text not null,
  hint text not null,
  kinds text,
  language text not null,
  enabled integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create unique index channels_by_name on channels (audience, name);
create table deliveries (
  notice_id text not null,
  channel_id text not null,
  message_id text,
  primary key (notice_id, channel_id)
) strict, without rowid;
create index deliveries_to_send on deliveries (channel_id) where message_id is null;
create index deliveries_by_message on deliveries (message_id);
create table outbox (
  id text primary key,
  channel_id text not null,
  state text not null check (state in ('queued', 'sent', 'failed')),
  attempts integer not null,
  created_at integer not null,
  due_at integer not null,
  ended_at integer,
  last_error text
) strict;
create index outbox_by_channel on outbox (channel_id, created_at);
create index outbox_to_send on outbox (due_at) where state = 'queued';
create table public_addresses (
  url text primary key,
  is_well integer not null,
  failures integer not null,
  since integer not null,
  checked_at integer not null,
  duration_ms integer,
  problem text
) strict, without rowid;
`,
}
