/**
 * The additional schema of a cluster, in PostgreSQL only: the node of each journal row, held amounts in the rows of their
 * owners, the open holds, the nodes, and the changes of control-plane rows.
 */
import type { Migration } from './migration.ts'

/** `seq` orders the commits of all nodes, `number` counts those of one node. */
const ledger = `
create sequence journal_order;
alter table journal add column node text collate "C" not null default '';
alter table journal add column number bigint not null default 0;
create unique index journal_by_node on journal (node, number);
create index entries_by_seq on entries (seq, id);
alter table owners add column held_nanos bigint not null default 0;
alter table owners add column day_held_nanos bigint not null default 0;
alter table owners add column month_held_nanos bigint not null default 0;
alter table owners add column past text not null default '[]';
alter table owners set (fillfactor = 70);
create table holds (
  id text collate "C" primary key,
  node text collate "C" not null,
  body text not null,
  mark_input bigint,
  mark_output bigint,
  retired_at bigint,
  charged_nanos bigint,
  claim text collate "C"
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create unique index holds_by_claim on holds (claim) where claim is not null;
`

const nodes = `
create table nodes (
  id text collate "C" primary key,
  name text not null,
  version text not null,
  epoch bigint not null,
  state text not null check (state in ('running', 'stopped', 'retired')),
  started_at bigint not null,
  seen_at bigint not null
);
create table leases (
  name text collate "C" primary key,
  node text collate "C" not null,
  until bigint not null
);
`

/** SQLite's json_patch (RFC 7396), for objects with scalar values only. */
const functions = `
create function json_patch(target text, patch text) returns text language sql immutable as $$
  select coalesce(jsonb_object_agg(name, value), '{}')::text from (
    select name, value from jsonb_each(target::jsonb) as before(name, value) where not patch::jsonb ? name
    union all
    select name, value from jsonb_each(patch::jsonb) as after(name, value) where value <> 'null'
  ) as merged;
$$;
`

const trackedTables = {
  accounts: ['account', 'id', 'insert or delete or update'],
  tiers: ['tier', 'name', 'insert or delete or update'],
  models: ['model', 'id', 'insert or delete or update'],
  upstreams: ['upstream', 'id', 'insert or delete or update'],
  prices: ['model', 'model_id', 'insert or delete or update'],
  routes: ['model', 'model_id', 'insert or delete or update'],
  keys: [
    'key',
    'id',
    `insert or delete or update of account_id, name, hash, status, expires_at, models, ips,
      cap_daily_nanos, cap_monthly_nanos, cap_total_nanos, limits, deleted_at`,
  ],
} as const

/** One row per changed object with the transaction that changed it last, which nodes poll. */
const changes = `
create table changes (
  kind text collate "C" not null,
  id text collate "C" not null,
  transaction xid8 not null,
  primary key (kind, id)
);
create index changes_by_transaction on changes (transaction);
create function note_change() returns trigger language plpgsql as $$
begin
  insert into changes (kind, id, transaction)
    values (tg_argv[0], to_jsonb(case when tg_op = 'DELETE' then old else new end) ->> tg_argv[1], pg_current_xact_id())
    on conflict (kind, id) do update set transaction = excluded.transaction;
  perform pg_notify('sluice_changes', '');
  return null;
end $$;
${Object.entries(trackedTables)
  .map(
    ([table, [kind, column, when]]) =>
      `create trigger ${table}_noted after ${when} on ${table} for each row execute function note_change('${kind}', '${column}');`,
  )
  .join('\n')}
`

export const cluster: Migration = {
  version: 8,
  name: 'the ledger of a cluster',
  ddl: '',
  postgres: ledger + nodes + functions + changes,
}
