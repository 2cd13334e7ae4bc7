/** Responses stored for clients that repeat a request with the same `Idempotency-Key`. */
import type { Migration } from './migration.ts'

export const storedResponses: Migration = {
  version: 5,
  name: 'answers kept by Idempotency-Key',
  ddl: `
create table kept_answers (
  account_id text not null,
  key_hash text not null,
  body_hash text not null,
  request_id text not null,
  at integer not null,
  cost_nanos integer not null,
  answer blob,
  primary key (account_id, key_hash)
) strict;
create index kept_answers_by_at on kept_answers (at);
`,
}
