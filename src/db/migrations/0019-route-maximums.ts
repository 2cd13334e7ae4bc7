/** The names under which routes were seen to obey or exceed a maximum of output tokens, and how nodes hear of either. */
import type { Migration } from './migration.ts'

const ddl = `
create table route_maximum_fields (
  upstream_id text not null,
  upstream_model text not null,
  field text not null,
  state text not null check (state in ('obeyed', 'exceeded')),
  at integer not null,
  primary key (upstream_id, upstream_model, field)
) strict, without rowid;
`

/** What is seen of a route is a change of the models that it serves. */
const triggers = `
create function note_route_maximum() returns trigger language plpgsql as $$
declare
  seen record;
begin
  if tg_op = 'DELETE' then seen := old; else seen := new; end if;
  insert into changes (kind, id, transaction)
    select distinct 'model', model_id, pg_current_xact_id() from routes
      where upstream_id = seen.upstream_id and upstream_model = seen.upstream_model
      order by model_id
    on conflict (kind, id) do update set transaction = excluded.transaction;
  perform pg_notify('sluice_changes', '');
  return null;
end $$;
create trigger route_maximums_noted after insert or delete or update on route_maximums
  for each row execute function note_route_maximum();
create trigger route_maximum_fields_noted after insert or delete or update on route_maximum_fields
  for each row execute function note_route_maximum();
`

export const routeMaximums: readonly Migration[] = [
  { version: 36, name: 'route maximum fields', ddl },
  { version: 37, name: 'changes of route maximums', ddl: '', postgres: triggers },
]
