/** A ledger with some requests, for tests of the verification, in both stores. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { afterAllFiles } from '../../../test/support/runner/after-all-files.ts'
import { compileQuery, type Db, type Query } from '../../db/db.ts'
import { openClient, runStatement } from '../../db/postgres/connection.ts'
import { postgresSkipReason, startPostgres, type PostgresServer } from '../../db/postgres/postgres.fixture.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { databaseFileName } from '../../db/sqlite/store.ts'
import { createRequestRow, createTemporaryDir, openTemporaryStore } from '../../db/store.fixture.ts'
import { listTables, type ReadRows } from '../../db/transfer/tables.ts'
import { PostgresTransfer } from '../../db/transfer/to-postgres.ts'
import { nanoPrice, noCaps, streamHold, usageOf } from '../../ledger/ledger.fixture.ts'
import { accountOwner, emptyState, keyOwner } from '../../ledger/state.ts'
import * as ledger from '../../ledger/operations.ts'
import { CommitQueue } from '../sqlite/commit-queue.ts'
import { comparePayments } from './payment-check.ts'
import { postgresSource } from './postgres-source.ts'
import { verifyLedger, type LedgerReport } from './replay.ts'
import type { Difference } from './row-sums.ts'
import { openSqliteSnapshots, sqliteSource } from './sqlite-source.ts'
import { monitorInThread } from './verify-thread.ts'

export type ServeRequests = (count: number) => Promise<void>

export interface ServedLedger {
  readonly path: string
  /** Serves more requests. */
  readonly serve: ServeRequests
  readonly credit: (fields: { readonly id: string; readonly reason: string }) => Promise<void>
}

/** A store with a ledger of some requests. */
export async function openServedLedger(t: TestContext): Promise<ServedLedger> {
  const store = await openTemporaryStore(t)
  const state = emptyState()
  const listener = {
    onDurable: () => {},
    onAdmissionChange: () => {},
    onFailure: (why: string) => assert.fail(why),
  }
  const commits = new CommitQueue(state, { sink: store, listener, now: Date.now }, 0)
  const owners = [accountOwner('acc'), keyOwner('key')]
  const credit: ServedLedger['credit'] = async (fields) => {
    const operation = { at: 0, account: 'acc', amount: 10n ** 9n, source: 'credit' as const, ...fields }
    const credited = ledger.credit(state, operation)
    assert.ok(typeof credited !== 'string')
    commits.addEvent(credited, owners.slice(0, 1), 'acc')
    await commits.drain()
  }
  await credit({ id: 'first', reason: 'test' })
  let number = 0
  const serve: ServeRequests = async (count) => {
    for (let index = 0; index < count; index += 1) {
      const id = `req_${++number}`
      const who = { id, at: number, account: 'acc', key: 'key', model: 'm' }
      const periods = { dayEnd: 1e9, monthEnd: 2e9 }
      const granted = ledger.hold(state, {
        ...streamHold,
        ...who,
        ...periods,
        price: nanoPrice,
        caps: noCaps,
      })
      assert.ok('event' in granted)
      commits.addEvent(granted.event, owners, 'acc')
      if (number % 7 === 0) await commits.drain()
      const usage = usageOf(number, 10)
      const settled = ledger.settle(state, { id, at: number, usage, cause: 'provider', caps: noCaps })
      assert.ok(settled)
      commits.addEvent(settled, owners, 'acc')
      const tokens = { prompt_tokens: number, completion_tokens: 10, cost_nanos: settled.charge }
      commits.addRequest(createRequestRow(id, { ...tokens, account_id: 'acc', key_id: 'key' }))
      // Rejected requests have rows as well, which several may share, but no money.
      const rejected = { account_id: 'acc', cost_nanos: 0n, outcome: 'refused', count: 3 } as const
      commits.addRequest(createRequestRow(`${id}_refused`, rejected))
    }
    await commits.drain()
  }
  await serve(20)
  return { path: join(store.dataDir, databaseFileName), serve, credit }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-verify-'))
const template = join(folder, databaseFileName)
afterAllFiles(() => rmSync(folder, { recursive: true }))

/** A copy of one ledger that a test can tamper with. */
export async function copyLedger(t: TestContext): Promise<string> {
  if (!existsSync(template)) {
    const { path } = await openServedLedger(t)
    const database = new DatabaseSync(path)
    database.exec(`vacuum into '${template}'`)
    database.close()
  }
  const path = join(createTemporaryDir(t), databaseFileName)
  copyFileSync(template, path)
  return path
}

export async function verifyFile(path: string): Promise<LedgerReport> {
  await using snapshots = openSqliteSnapshots(path)
  return await snapshots.read((db) => verifyLedger(sqliteSource, db))
}

/** Changes the file as an attacker with root permissions could. */
export function tamper(path: string, ...statements: string[]): void {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  for (const trigger of ['journal_stays', 'entries_stay', 'entries_remain']) {
    database.exec(`drop trigger if exists ${trigger}`)
  }
  for (const statement of statements) database.exec(statement)
  database.close()
}

/** A ledger that a test can tamper with, in one of the stores. */
export interface TamperedLedger {
  /** Changes rows as an attacker with all permissions could. */
  readonly tamper: (...statements: string[]) => Promise<void>
  readonly readBodies: () => Promise<readonly { readonly seq: number; readonly body: string }[]>
  /** SQL of a binary value. */
  readonly bytes: (value: Uint8Array) => string
  readonly verify: () => Promise<LedgerReport>
  readonly comparePayments: () => Promise<Difference[]>
}

const bodiesText = 'select seq, body from journal order by seq'

async function openTamperedFile(t: TestContext): Promise<TamperedLedger> {
  const path = await copyLedger(t)
  return {
    tamper: (...statements) => Promise.resolve(tamper(path, ...statements)),
    async readBodies() {
      await using snapshots = openSqliteSnapshots(path)
      const rows = await snapshots.read((db) =>
        db.all<{ seq: number; body: string }>({ sql: bodiesText, parameters: [] }),
      )
      return rows
    },
    bytes: (value) => `x'${Buffer.from(value).toString('hex')}'`,
    verify: () => verifyFile(path),
    async comparePayments() {
      await using snapshots = openSqliteSnapshots(path)
      return await snapshots.read(comparePayments)
    },
  }
}

let postgres: Promise<{ readonly server: PostgresServer; readonly url: string }> | undefined
afterAllFiles(async () => (await postgres)?.server.remove())

/** The same ledger after a move to PostgreSQL. */
async function moveLedger(t: TestContext): Promise<{ server: PostgresServer; url: string }> {
  const path = await copyLedger(t)
  const server = await startPostgres()
  const url = await server.createDatabase()
  const target = await PostgresTransfer.open(url)
  const source = openReadOnly(path)
  const read: ReadRows = (statement) => source.db.all(statement)
  const tables = await listTables(read)
  await target.begin('move', tables, () => undefined)
  await target.createSchema('move')
  for (const table of tables) await target.copyTable(read, table, () => undefined)
  await target.finish(new Map(), {})
  source.close()
  await target.close()
  return { server, url }
}

/** All changes are made in a transaction that is rolled back. */
async function openTamperedDatabase(t: TestContext): Promise<TamperedLedger> {
  postgres ??= moveLedger(t)
  const { url } = await postgres
  const client = await openClient({ url, name: 'tamper', statementMs: 20_000 })
  t.after(() => client.end())
  await client.query('begin; set local session_replication_role = replica')
  const rowsOf = async <Row>(query: Query<Row>): Promise<Row[]> =>
    (await runStatement(client, compileQuery(query))).rows as Row[]
  const db: Db = {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    write: () => Promise.reject(new Error('not used')),
  }
  return {
    async tamper(...statements) {
      for (const statement of statements) await client.query(statement)
    },
    readBodies: () => db.all({ sql: bodiesText, parameters: [] }),
    bytes: (value) => `'\\x${Buffer.from(value).toString('hex')}'::bytea`,
    verify: () => verifyLedger(postgresSource, db),
    comparePayments: () => comparePayments(db),
  }
}

/** The stores, each with a copy of the same ledger. */
export const stores = [
  { store: 'sqlite', skip: false, open: openTamperedFile },
  { store: 'postgres', skip: postgresSkipReason, open: openTamperedDatabase },
] as const

/** Starts a monitor with a short interval. The returned function waits for a report. */
export async function startMonitor(
  t: TestContext,
  path: string,
): Promise<(isFound: (report: LedgerReport) => boolean) => Promise<LedgerReport>> {
  let onReport: (report: LedgerReport) => void = () => {}
  const stop = monitorInThread(path, 20, {
    onReport: (report) => onReport(report),
    onError: (error) => assert.fail(String(error)),
  })
  t.after(stop)
  return (isFound) => {
    const { promise, resolve } = Promise.withResolvers<LedgerReport>()
    onReport = (report) => {
      if (isFound(report)) resolve(report)
    }
    return promise
  }
}
