/** The ledger of one node over a PostgreSQL of its own, and its operations, for tests. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { afterAllFiles } from '../../../test/support/runner/after-all-files.ts'
import type { Client } from 'pg'
import type { Db } from '../../db/db.ts'
import { openClient } from '../../db/postgres/connection.ts'
import { openPostgresDb } from '../../db/postgres/postgres-db.ts'
import { quoteLiteral } from '../../db/postgres/sql-text.ts'
import { joinCluster } from '../../db/postgres/nodes.ts'
import { startPostgres, type PostgresServer } from '../../db/postgres/postgres.fixture.ts'
import { readSnapshot } from '../../db/postgres/snapshot.ts'
import { noCaps, streamHold, usageOf } from '../../ledger/ledger.fixture.ts'
import { accountOwner, keyOwner } from '../../ledger/state.ts'
import { outcome } from '../../relay/request-outcome.fixture.ts'
import { openFaultyProxy, type CommitFault } from './faulty-connection.fixture.ts'
import type { SharedLedgerDeps } from './shared-ledger-deps.ts'
import { SharedLedger } from './shared-ledger.ts'
import { postgresSource } from '../verification/postgres-source.ts'
import { verifyLedger, type LedgerReport } from '../verification/replay.ts'
import { version } from '../../lib/version.ts'
import type { CreditResult, Results } from '../../ledger/transaction.ts'
import { waitUntil } from '../../../test/support/wait.ts'

/** One server for all tests of a process, each of which has its own database. */
let server: Promise<PostgresServer> | undefined
afterAllFiles(async () => (await server)?.remove())

const dayEnd = 1_814_400_000_000
export const at = dayEnd - 1000

interface Settings extends Partial<SharedLedgerDeps> {
  readonly nextFault: () => CommitFault
}

export async function openNodeLedger(
  t: TestContext,
  id: string,
  url: string,
  { nextFault, ...settings }: Settings,
) {
  const db = openPostgresDb(url, 'test')
  const epoch = await joinCluster(db, { id, name: id, version })
  await setDatabaseClock(db, at)
  const events: string[] = []
  const ledger = new SharedLedger({
    url: `${await openFaultyProxy(t, url, nextFault)}?options=-c search_path=public,pg_catalog`,
    node: id,
    epoch,
    now: () => at,
    db,
    journal: {
      saveSettlement: (each) => each.operation.kind === 'settle' && each.reply(0n),
      remove: () => undefined,
    },
    listener: {
      onAdmissionChange: () => undefined,
      onFenced: (why) => events.push(why),
      onBroken: (error) => events.push(String(error)),
      onReopeningFailed: (why) => events.push(why),
    },
    ...settings,
  })
  t.after(async () => {
    await ledger.close()
    await db.close()
  })
  return { ledger, db, url, events }
}

/** Sets the clock that ledgers read: a function that their connections find before PostgreSQL's own. */
export async function setDatabaseClock(db: Db, ms: number): Promise<void> {
  await db.write({
    sql: `create or replace function public.clock_timestamp() returns timestamptz language sql
      as ${quoteLiteral(`select to_timestamp(${ms / 1000}::numeric)`)}`,
    parameters: [],
  })
}

export async function openLedger(
  t: TestContext,
  nextFault: () => CommitFault,
  settings: Partial<SharedLedgerDeps> = {},
) {
  server ??= startPostgres()
  const url = await (await server).createMigratedDatabase()
  const node = await openNodeLedger(t, 'one', url, { nextFault, ...settings })
  return node
}

export type TestLedger = Awaited<ReturnType<typeof openLedger>>

/** A ledger whose account has a million nanos and an open hold, `req-1`. */
export async function openLedgerWithHold(
  t: TestContext,
  nextFault: () => CommitFault = () => 'pass',
  settings: Partial<SharedLedgerDeps> = {},
): Promise<TestLedger> {
  const node = await openLedger(t, nextFault, settings)
  await credit(node, 1_000_000n)
  await hold(node, 'req-1')
  return node
}

export function credit(node: TestLedger, amount: bigint, account = 'one'): Promise<CreditResult> {
  return enterCredit(node, { id: `credit-${account}`, reason: 'a test', amount }, account)
}

export async function enterCredit(
  { ledger }: TestLedger,
  fields: { readonly id: string; readonly reason: string; readonly amount: bigint },
  account = 'one',
): Promise<CreditResult> {
  const operation = { at, account, source: 'credit' as const, ...fields }
  return waitUntil(() => ledger.decide({ kind: 'credit', credit: operation }), 'the credit')
}

export function hold({ ledger }: TestLedger, id: string, account = 'one'): Promise<Results['hold'] | null> {
  const who = { id, at, account, key: account === 'one' ? 'key' : `key-${account}`, model: 'm' }
  const operation = { ...streamHold, ...who, modelTokens: 100, caps: noCaps, dayEnd, monthEnd: dayEnd }
  return ledger.decide({ kind: 'hold', hold: operation, timezone: 'UTC' })
}

export async function settle({ ledger }: TestLedger, id: string, tokens: number): Promise<bigint> {
  const request = { id, usage: usageOf(0, tokens), cause: 'provider' as const, servedModel: null, outcome }
  const more = { storedResponse: null, otherPrice: undefined, at, caps: noCaps }
  const charge = await ledger.decide({ kind: 'settle', request, ...more })
  assert.ok(charge !== null)
  return charge
}

export async function expire({ ledger }: TestLedger, id: string): Promise<void> {
  const owners = [accountOwner('one'), keyOwner('key')]
  await ledger.decide({ kind: 'expire', id, at, caps: noCaps, upstream: null }, owners)
}

/** Continues in a new epoch, as a node does whose own is over. Resolves when it admits requests again. */
export async function rejoin({ ledger, db }: TestLedger): Promise<void> {
  await ledger.rejoin(await joinCluster(db, { id: 'one', name: 'one', version }))
  await waitUntilAdmitting(ledger)
}

export async function waitUntilAdmitting(ledger: SharedLedger): Promise<void> {
  await waitUntil(() => ledger.isAdmitting)
}

/** A connection of an operator, who changes the database directly. */
export async function openOperator(t: TestContext, { url }: TestLedger): Promise<Client> {
  const client = await openClient({ url, name: 'operator', statementMs: 20_000 })
  t.after(() => client.end())
  return client
}

export function verifyDatabase(url: string): Promise<LedgerReport> {
  return readSnapshot(url, (db) => verifyLedger(postgresSource, db))
}

/** Waits until a connection of the database meets the condition. */
export async function waitForConnection(db: Db, condition: string): Promise<void> {
  const sql = `select 1 from pg_stat_activity where ${condition}`
  await waitUntil(async () => (await db.all({ sql, parameters: [] })).length > 0, condition)
}
