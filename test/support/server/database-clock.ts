/** The clock of a PostgreSQL database, which the nodes of a cluster use. */
import { openClient } from '../../../src/db/postgres/connection.ts'

/** Shifts it ahead for all connections that are opened afterwards: they find another function before PostgreSQL's own. */
export async function setDatabaseClockAhead(url: string, ms: number): Promise<void> {
  const client = await openClient({ url, name: 'test clock', statementMs: 20_000 })
  await client.query(`
    create or replace function public.clock_timestamp() returns timestamptz language sql
      as 'select pg_catalog.clock_timestamp() + interval ''${ms} milliseconds''';
    do $$ begin
      execute format('alter database %I set search_path = public, pg_catalog', current_database());
    end $$`)
  await client.end()
}
