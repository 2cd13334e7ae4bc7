import type { Migration } from './migration.ts'

/** Several credentials per upstream, health checks, and the routing of a model. */
export const routing: Migration = {
  version: 6,
  name: 'routing',
  ddl: `
create table upstream_credentials (
  id text primary key,
  upstream_id text not null references upstreams (id) on delete cascade,
  credential text not null,
  last_four text,
  label text not null,
  weight integer not null check (weight >= 0),
  enabled integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index upstream_credentials_by_upstream on upstream_credentials (upstream_id, id);
alter table upstreams add column health_check_ms integer check (health_check_ms > 0);
alter table models add column routing text not null default '{}';
`,
}
