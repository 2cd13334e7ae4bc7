import type { Migration } from './migration.ts'

/** Users of the console, their credentials and sessions. Secrets are stored only as hashes. */
export const users: Migration = {
  version: 9,
  name: 'people',
  ddl: `
create table persons (
  id text primary key,
  email text not null,
  email_normalised text not null unique,
  name text not null,
  role text not null check (role in ('customer', 'operator')),
  account_id text references accounts (id),
  language text not null,
  password_hash text,
  totp_secret text,
  totp_confirmed_at integer,
  totp_counter integer,
  email_verified_at integer,
  disabled_at integer,
  last_sign_in_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create index persons_by_account on persons (account_id, id);
create table sessions (
  hash text primary key,
  id text not null unique,
  person_id text not null references persons (id),
  acting_account text references accounts (id),
  address text not null,
  agent text not null,
  created_at integer not null,
  seen_at integer not null,
  expires_at integer not null
) strict;
create index sessions_by_person on sessions (person_id, created_at);
create index sessions_by_end on sessions (expires_at);
create table tickets (
  hash text primary key,
  kind text not null,
  person_id text references persons (id),
  detail text not null,
  tries_left integer not null check (tries_left >= 0),
  created_at integer not null,
  expires_at integer not null
) strict;
create index tickets_by_person on tickets (person_id, kind);
create index tickets_by_end on tickets (expires_at);
create table recovery_codes (
  person_id text not null references persons (id),
  hash text not null,
  used_at integer,
  primary key (person_id, hash)
) strict, without rowid;
create table passkeys (
  id text primary key,
  person_id text not null references persons (id),
  public_key blob not null,
  counter integer not null,
  transports text not null,
  name text not null,
  created_at integer not null,
  last_used_at integer
) strict;
create index passkeys_by_person on passkeys (person_id, created_at);
create table invites (
  id text primary key,
  code_hash text not null unique,
  note text not null,
  uses_left integer not null check (uses_left >= 0),
  expires_at integer,
  created_at integer not null
) strict;
`,
}
