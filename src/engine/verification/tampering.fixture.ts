/** What an attacker with access to a cluster's database can change, and how to undo it. */
import type { Client } from 'pg'

/** Bypasses the triggers that reject such changes. */
export async function tamper(client: Client, statement: string): Promise<void> {
  await client.query(`begin; set local session_replication_role = replica; ${statement}; commit`)
}

const savedTables = ['entries', 'requests', 'journal', 'owners', 'holds', 'dropped_bills']
const saveAll = savedTables.map((name) => `create table kept_${name} as table ${name}`).join(';')
const restoreAll = savedTables
  .map((name) => `delete from ${name}; insert into ${name} table kept_${name}`)
  .join(';')
const dropSaved = savedTables.map((name) => `drop table kept_${name}`).join(';')

/** Saves all tables. The returned function restores them, as a failover to a lagging standby does. */
export async function saveTables(client: Client): Promise<() => Promise<void>> {
  await tamper(client, saveAll)
  return () => tamper(client, `${restoreAll};${dropSaved}`)
}

/** Restores everything afterwards. */
export async function withTampering(
  client: Client,
  statement: string,
  work: () => Promise<void>,
): Promise<void> {
  const restore = await saveTables(client)
  await tamper(client, statement)
  await work()
  await restore()
}

const ofFirst = (table: string, key: string, where = 'true'): string =>
  `${key} = (select min(${key}) from ${table} where ${where})`
const firstCharge = ofFirst('entries', 'id', `kind = 'charge'`)
const firstRow = ofFirst('requests', 'row_id', 'cost_nanos > 0')
const extraEntry = `insert into entries (seq, at, debit, credit, amount_nanos, kind, account_id)`
const rehash = `update journal set body = replace(body, '1000000', '2000000'),
  hash = sha256(prev || convert_to(replace(body, '1000000', '2000000'), 'UTF8')) where number = 1`
const richer = `update entries set amount_nanos = amount_nanos + 5 where ${ofFirst('entries', 'id')};
  update owners set balance_nanos = balance_nanos + 5
    where id = (select 'a:' || account_id from entries where ${ofFirst('entries', 'id')})`

/** Tampering with rows that existed before the monitor started, and which scan finds it. */
export const tamperingBefore: Record<
  string,
  { statement: string; by: readonly ('sums' | 'recomputation')[] }
> = {
  'a balance': {
    statement: `update owners set balance_nanos = balance_nanos + 1 where id = 'a:one'`,
    by: ['sums', 'recomputation'],
  },
  'a held amount': {
    statement: `update owners set held_nanos = held_nanos - 1 where id = 'a:both'`,
    by: ['recomputation'],
  },
  'a deleted account row': {
    statement: `delete from owners where id = 'a:two'`,
    by: ['sums', 'recomputation'],
  },
  'an entry’s amount': {
    statement: `update entries set amount_nanos = amount_nanos + 1 where ${firstCharge}`,
    by: ['sums', 'recomputation'],
  },
  'a deleted entry': {
    statement: `delete from entries where ${firstCharge}`,
    by: ['sums', 'recomputation'],
  },
  'an entry of no commit': {
    statement: `${extraEntry} values (-7, 0, 'x', 'y', 1, 'credit', null)`,
    by: ['recomputation'],
  },
  'an entry with a number far from all others': {
    statement: `${extraEntry.replace('(', '(id, ')} values (9000000000000000, 1, 0, 'account:one', 'y', 1, 'credit', 'one')`,
    by: ['sums', 'recomputation'],
  },
  'a request’s cost': {
    statement: `update requests set cost_nanos = cost_nanos + 1 where ${firstRow}`,
    by: ['sums', 'recomputation'],
  },
  'a request’s tokens': {
    statement: `update requests set completion_tokens = 99 where ${firstRow}`,
    by: ['recomputation'],
  },
  'a deleted request row': {
    statement: `delete from requests where ${firstRow}`,
    by: ['sums', 'recomputation'],
  },
  'an extra request row': {
    statement: `create temporary table extra on commit drop as select * from requests where ${firstRow};
    update extra set row_id = -5, request_id = 'extra'; insert into requests table extra`,
    by: ['sums', 'recomputation'],
  },
  'rows recorded as deleted that never existed': {
    statement: `insert into dropped_bills values ('one', 1, 5)`,
    by: ['sums', 'recomputation'],
  },
  'a commit’s body': {
    statement: `update journal set body = replace(body, '1000000', '2000000') where number = 1`,
    by: ['recomputation'],
  },
  'a commit’s body with a hash of its own': { statement: rehash, by: ['recomputation'] },
  'a deleted commit': {
    statement: `delete from journal where node = 'one' and number = 2`,
    by: ['recomputation'],
  },
  'a credit and the balance that follows from it': { statement: richer, by: ['recomputation'] },
}

const lastOf = (table: string, key: string, where = 'true'): string =>
  `${key} = (select max(${key}) from ${table} where ${where})`
const newCharge = lastOf('entries', 'id', `kind = 'charge'`)
const newRow = lastOf('requests', 'row_id', 'cost_nanos > 0')

/** Tampering with rows since the last check. */
export const tamperingSince = {
  'a balance': `update owners set balance_nanos = balance_nanos + 1 where id = 'a:one'`,
  'a held amount': `update owners set held_nanos = held_nanos - 1 where id = 'a:both'`,
  'a hold': `update holds set body = replace(body, 'both', 'more')`,
  'an entry’s amount': `update entries set amount_nanos = amount_nanos + 1 where ${newCharge}`,
  'a deleted entry': `delete from entries where ${newCharge}`,
  'an entry of no commit': `${extraEntry} values (-7, 0, 'x', 'y', 1, 'credit', null)`,
  'an entry of an earlier commit': `${extraEntry} values (1, 0, 'x', 'y', 1, 'credit', null)`,
  'a request’s cost': `update requests set cost_nanos = cost_nanos + 1 where ${newRow}`,
  'a deleted request row': `delete from requests where ${newRow}`,
  'an extra request row': `create temporary table extra on commit drop as select * from requests where ${newRow};
    update extra set row_id = row_id + 1, request_id = 'extra'; insert into requests table extra`,
  'a commit’s body': `update journal set body = replace(body, 'req', 'Req') where ${lastOf('journal', 'seq')}`,
  'a commit before that, with hashes of their own': `update journal set hash = sha256(prev) where ${lastOf('journal', 'number', `node = 'one'`)} and node = 'one'`,
}
