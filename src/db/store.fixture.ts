/** Opens a real store in a temporary directory for one test. */

import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Channel } from '../rpc/channel.ts'
import { LocalPort } from '../rpc/local-port.ts'
import type { Db } from './db.ts'
import type { LedgerCommit, RequestRow } from './ledger-commit.ts'
import { openWriter } from './sqlite/connection.ts'
import { migrateSqlite } from './sqlite/migrate.ts'
import { packCommit } from './sqlite/packed-commit.ts'
import { connectDb, storeErrors } from './sqlite/port-db.ts'
import { openReaderService } from './sqlite/reader-thread.ts'
import type { OpenedService } from './sqlite/serve-store-thread.ts'
import { openWriterService } from './sqlite/store-thread.ts'
import { databaseFileName, openStore, type Store, type StoreOptions } from './sqlite/store.ts'

export function createTemporaryDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
  // A thread that the test has started may still be adding a file.
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

/** The part of a store that tests use: of a single node or of a cluster. */
export type TestStore = Pick<Store, 'db' | 'commit'>

export type StoreTestOptions = Pick<StoreOptions, 'maintenanceModule'>

/** Opens another kind of store for the tests in this process; see test/checks/unit-tests-on-postgres.test.ts. */
let openOtherStore: ((t: TestContext) => Promise<TestStore>) | undefined

export function useStores(open: typeof openOtherStore): void {
  openOtherStore = open
}

/** The other kind of store always rolls up; SQLite's needs the module. */
export async function openAnyStore(t: TestContext, options: StoreTestOptions = {}): Promise<TestStore> {
  return openOtherStore === undefined ? openUnthreadedStore(t, options) : openOtherStore(t)
}

/** The database that this process copies for each store. */
let migratedDatabase: string | undefined

function migrateDatabase(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, databaseFileName)
  using connection = openWriter(path)
  migrateSqlite(connection.database)
  return path
}

function copyMigratedDatabase(path: string): void {
  migratedDatabase ??= migrateDatabase()
  copyFileSync(migratedDatabase, path)
}

/** What a store's threads do, in the test's own: starting four threads takes longer than most tests. */
async function openUnthreadedStore(
  t: TestContext,
  { maintenanceModule }: StoreTestOptions,
): Promise<TestStore> {
  const path = join(createTemporaryDir(t), databaseFileName)
  copyMigratedDatabase(path)
  const writing = await openWriterService(
    { path, maintenanceModule: maintenanceModule?.href ?? null, requestRetentionMs: 0 },
    { failed: assert.fail, requestsDeleted: () => undefined },
  )
  const reading = openReaderService(path)
  const served: Channel<object>[] = []
  const connect = ({ store }: OpenedService): LocalPort => {
    const [here, there] = LocalPort.createPair()
    served.push(new Channel(there, storeErrors).serve({ services: { store } }))
    return here
  }
  const { db, writer } = connectDb({
    writer: connect(writing),
    reader: connect(reading),
    lookups: connect(reading),
    reporter: connect(reading),
  })
  t.after(async () => {
    await Promise.all(served.map((channel) => channel.finish()))
    reading.close()
    writing.close()
  })
  return {
    db,
    async commit(commit) {
      await writer.commit(packCommit(commit))
    },
  }
}

export async function openTemporaryStore(
  t: TestContext,
  options: StoreTestOptions = {},
): Promise<Store & { readonly dataDir: string }> {
  const dataDir = createTemporaryDir(t)
  copyMigratedDatabase(join(dataDir, databaseFileName))
  const store = await openStore({ dataDir, ...options })
  t.after(() => store.close())
  return { ...store, dataDir }
}

export async function openTemporaryDb(t: TestContext): Promise<Db> {
  return (await openAnyStore(t)).db
}

/** A successful request of an account; it references no other table. */
export function createRequestRow(requestId: string, fields: Partial<RequestRow> = {}): RequestRow {
  return {
    request_id: requestId,
    at: 7_200_000,
    account_id: 'acc_one',
    key_id: 'key_one',
    model: 'family-a-small',
    upstream_id: null,
    http_status: 200,
    outcome: 'ok',
    stream: 0,
    finish: 'stop',
    prompt_tokens: 100,
    cached_tokens: 0,
    completion_tokens: 10,
    reasoning_tokens: 0,
    usage_source: 'provider',
    cost_nanos: 220_000n,
    upstream_cost_nanos: null,
    first_token_ms: null,
    duration_ms: 12,
    attempts: '[]',
    error_code: null,
    hold_nanos: 0n,
    price_version: 1,
    cache_write_tokens: 0,
    factor_ppm: 1_000_000,
    balance_nanos: null,
    fault: null,
    fault_upstream: null,
    cache_write_1h_tokens: 0,
    model_served: null,
    provider_response_id: null,
    fingerprint: null,
    operation: 'chat',
    service_tier: null,
    units: null,
    count: 1,
    ...fields,
  }
}

/** A commit of one event with one entry and one owner. */
export function createLedgerCommit(seq: number, fields: Partial<LedgerCommit> = {}): LedgerCommit {
  return {
    seq,
    at: 1000 + seq,
    journal: JSON.stringify([{ kind: 'credit', seq }]),
    entries: [
      {
        at: 1000 + seq,
        debit: 'operator:credits',
        credit: 'a:acc_one',
        amount_nanos: 9_007_199_254_740_993n,
        kind: 'credit',
        account_id: 'acc_one',
        ref: `credit-${seq}`,
        reason: 'a test',
        source: 'admin',
      },
    ],
    owners: [
      {
        id: 'a:acc_one',
        balance_nanos: BigInt(seq),
        day_end: 0,
        day_spent_nanos: 0n,
        day_requests: 0,
        month_end: 0,
        month_spent_nanos: 0n,
        total_spent_nanos: 0n,
        flags: 0,
      },
    ],
    requests: [],
    ...fields,
  }
}
