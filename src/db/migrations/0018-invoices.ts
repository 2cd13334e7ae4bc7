import type { Migration } from './migration.ts'

/** Invoices that customers ask for and operators issue. A payment is on one invoice at most that is not void. */
export const invoices: Migration = {
  version: 35,
  name: 'invoices',
  ddl: `
create table invoice_titles (
  id text primary key,
  account_id text not null references accounts (id),
  kind text not null check (kind in ('person', 'enterprise')),
  title text not null,
  tax_number text,
  address text,
  phone text,
  bank text,
  bank_account text,
  email text,
  remark text,
  created_at integer not null
) strict;
create index invoice_titles_by_account on invoice_titles (account_id, id);
create table invoices (
  id text primary key,
  account_id text not null references accounts (id),
  state text not null check (state in ('asked', 'issued', 'refused', 'reversed')),
  special integer not null,
  buyer text not null,
  currency text not null,
  amount_minor integer not null check (amount_minor > 0),
  number text,
  issued_on text,
  link text,
  file_type text,
  reason text,
  credit_note text,
  requested_by text not null,
  decided_by text,
  created_at integer not null,
  updated_at integer not null
) strict;
create unique index invoices_by_number on invoices (number) where number is not null;
create index invoices_by_account on invoices (account_id, id);
create table invoice_orders (
  invoice_id text not null references invoices (id),
  order_id text not null references payment_orders (id),
  amount_minor integer not null check (amount_minor > 0),
  active integer not null,
  primary key (invoice_id, order_id)
) strict, without rowid;
create unique index invoice_orders_active on invoice_orders (order_id) where active = 1;
create table invoice_files (
  invoice_id text primary key references invoices (id),
  content blob not null
) strict;
`,
}
