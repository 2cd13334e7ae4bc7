/** Databases of earlier schemas, with all rows that fit into them. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'

import { migrations } from '../../../src/db/migrations/migrations.ts'
import { migrateSqlite } from '../../../src/db/sqlite/migrate.ts'
import { digestTable } from '../../../src/db/transfer/digest.ts'
import {
  createReader,
  fillTables,
  readRowsForSchema,
  type TableRows,
} from '../../../src/db/transfer/filled-tables.fixture.ts'
import { listTables, type ReadRows, type TableShape } from '../../../src/db/transfer/tables.ts'
import { openServedLedger } from '../../../src/engine/verification/served-ledger.fixture.ts'
import { chatRequest, type Account } from './account.ts'
import type { TestServer } from './test-server.ts'

export const latestVersion: number = migrations.length
export const earlierVersions: number[] = migrations
  .map(({ version }) => version)
  .filter((version) => version < latestVersion)

/** Payments whose credits are not entered yet, refunds that were refused, and disputes that found nothing to take. */
const consistentPayments = `
  insert into credit_orders (id, account_id, amount_nanos, source, reason, created_at, entered_at)
    select 'payment:' || method || ':' || merchant || ':' || transaction_id, account_id, credit_nanos, 'payment', '', 0, null
      from payments
    union all select 'bonus:' || order_id, account_id, bonus_nanos, 'bonus', '', 0, null from payments;
  update payment_refunds set state = 'refused';
  update payment_disputes set payment_nanos = 0, bonus_nanos = 0`

/** A database with the latest schema, a ledger, and rows in every table. */
export async function createFilledDatabase(t: TestContext): Promise<DatabaseSync> {
  const { path } = await openServedLedger(t)
  const database = openUnsynced(path)
  t.after(() => database.close())
  await fillTables(database)
  database.exec(consistentPayments)
  for (const { name } of (await listTables(createReader(database))).filter(
    (each) => each.name !== 'dropped_bills',
  ))
    assert.ok(database.prepare(`select 1 from ${name} limit 1`).get(), `${name} is empty`)
  return database
}

/** Opens a database without waiting for the disk, which is not under test. */
function openUnsynced(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec('pragma synchronous = off')
  return database
}

/** Creates a SQLite file of an earlier schema with all rows that fit into it. */
export async function createFile(
  version: number,
  from: DatabaseSync,
  path: string,
): Promise<{ tables: TableShape[]; rows: TableRows[] }> {
  const database = openUnsynced(path)
  try {
    migrateSqlite(database, migrations.slice(0, version))
    const tables = await listTables(createReader(database))
    const rows = await readRowsForSchema(tables, from)
    // A tier may refer to one that is inserted after it.
    database.exec('begin; pragma defer_foreign_keys = on')
    for (const { name, columns, cells } of rows) {
      database.exec(`delete from ${name}`)
      const text = `insert into ${name} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
      for (const values of cells) database.prepare(text).run(...values)
    }
    database.exec('commit')
    return { tables, rows }
  } finally {
    database.close()
  }
}

export async function digestTables(
  read: ReadRows,
  tables: readonly TableShape[],
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const table of tables) digests[table.name] = (await digestTable(read, table, () => undefined)).sha256
  return digests
}

/** Opens a database for one use, without waiting for the disk. */
export async function withFile<Result>(
  path: string,
  use: (database: DatabaseSync) => Result | Promise<Result>,
): Promise<Result> {
  const database = openUnsynced(path)
  try {
    return await use(database)
  } finally {
    database.close()
  }
}

/** Sends one more request and checks its charge and the ledger. */
export async function assertServes(server: TestServer, account: Account): Promise<void> {
  const balance = Number(await account.balance())
  const response = await account.post(chatRequest('m'))
  assert.equal(response.status, 200, await response.text())
  assert.equal(Math.round((balance - Number(await account.balance())) * 1000), 4)
  assert.partialDeepStrictEqual(await server.verify(), { ok: true, drift: '0' })
}
