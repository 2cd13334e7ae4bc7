import type { Migration } from './migration.ts'

/** Items of responses to which an account's next requests may refer (usage/response-items.ts). */
export const responseItems: Migration = {
  version: 38,
  name: 'items of responses',
  ddl: `
create table response_items (
  account_id text not null references accounts (id) on delete cascade,
  item_id text not null,
  used_at integer not null,
  bytes integer not null,
  item blob not null,
  primary key (account_id, item_id)
) strict;
create index response_items_by_use on response_items (account_id, used_at, bytes);
create index response_items_by_used_at on response_items (used_at);
`,
}
