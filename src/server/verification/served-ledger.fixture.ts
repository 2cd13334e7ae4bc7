/** A ledger with some requests, for tests of the verification, and the three ways to verify it. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext } from 'node:test'
import { openReader } from '../../db/sqlite/connection.ts'
import { databaseFileName } from '../../db/sqlite/store.ts'
import { createRequestRow, createTemporaryDir, openTemporaryStore } from '../../db/store.fixture.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { nanoPrice, noCaps, streamHold, usageOf } from '../../ledger/ledger.fixture.ts'
import { accountOwner, emptyState, keyOwner } from '../../ledger/state.ts'
import * as ledger from '../../ledger/operations.ts'
import { CommitQueue } from '../ledger/commit-queue.ts'
import { verifyLedger } from './verify-ledger.ts'
import { inSnapshot, monitorInThread } from './verify-thread.ts'

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
    commits.add(credited, owners.slice(0, 1), 'acc')
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
      commits.add(granted.event, owners, 'acc')
      if (number % 7 === 0) await commits.drain()
      const usage = usageOf(number, 10)
      const settled = ledger.settle(state, { id, at: number, usage, cause: 'provider', caps: noCaps })
      assert.ok(settled)
      commits.add(settled.event, owners, 'acc')
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
after(() => rmSync(folder, { recursive: true }))

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
  const connection = openReader(path)
  try {
    return await inSnapshot(connection, verifyLedger)
  } finally {
    connection.close()
  }
}

/** Changes the file as an attacker with root permissions could. */
export function tamper(path: string, ...statements: string[]): void {
  const database = new DatabaseSync(path)
  for (const trigger of ['journal_stays', 'entries_stay', 'entries_remain']) {
    database.exec(`drop trigger if exists ${trigger}`)
  }
  for (const statement of statements) database.exec(statement)
  database.close()
}

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
