/** A ledger that has seen some requests, for tests that recompute it, and the three ways of doing so. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext } from 'node:test'
import { openReader } from '../../db/sqlite/connection.ts'
import { databaseFileName } from '../../db/store.ts'
import { requestRow, temporaryDir, temporaryStore } from '../../db/store.fixture.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { nanoPrice, noCaps, stream, usageOf } from '../../ledger/ledger.fixture.ts'
import { accountOwner, emptyState, keyOwner } from '../../ledger/state.ts'
import * as ledger from '../../ledger/operations.ts'
import { CommitQueue } from '../ledger/commit-queue.ts'
import { verifyLedger } from './verify-ledger.ts'
import { inSnapshot, watchInThread } from '../verify-thread.ts'

export type Requests = (count: number) => Promise<void>

/** A store with a ledger that has seen some requests, and the way to more of them. */
export async function openLedger(t: TestContext): Promise<{ path: string; serve: Requests }> {
  const store = await temporaryStore(t)
  const state = emptyState()
  const listener = { durable: () => {}, admitting: () => {}, failed: (why: string) => assert.fail(why) }
  const commits = new CommitQueue(state, { sink: store, listener, now: Date.now }, 0)
  const owners = [accountOwner('acc'), keyOwner('key')]
  const credit = {
    id: 'c',
    at: 0,
    account: 'acc',
    amount: 10n ** 9n,
    source: 'credit' as const,
    reason: 'test',
  }
  const credited = ledger.credit(state, credit)
  assert.ok(typeof credited !== 'string')
  commits.add(credited, owners.slice(0, 1), 'acc')
  let number = 0
  const serve: Requests = async (count) => {
    for (let index = 0; index < count; index += 1) {
      const id = `req_${++number}`
      const who = { id, at: number, account: 'acc', key: 'key', model: 'm' }
      const periods = { dayEnd: 1e9, monthEnd: 2e9 }
      const granted = ledger.hold(state, { ...stream, ...who, ...periods, price: nanoPrice, caps: noCaps })
      assert.ok('event' in granted)
      commits.add(granted.event, owners, 'acc')
      if (number % 7 === 0) await commits.drained()
      const usage = usageOf(number, 10)
      const settled = ledger.settle(state, { id, at: number, usage, cause: 'provider', caps: noCaps })
      assert.ok(settled)
      commits.add(settled.event, owners, 'acc')
      const tokens = { prompt_tokens: number, completion_tokens: 10, cost_nanos: settled.charge }
      commits.addRequest(requestRow(id, { ...tokens, account_id: 'acc', key_id: 'key' }))
      // Refused requests have rows as well, and no money.
      commits.addRequest(requestRow(`${id}_refused`, { account_id: 'acc', cost_nanos: 0n }))
    }
    await commits.drained()
  }
  await serve(20)
  return { path: join(store.dataDir, databaseFileName), serve }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-verify-'))
const template = join(folder, databaseFileName)
after(() => rmSync(folder, { recursive: true }))

/** A copy of one ledger, which whoever wants may tamper with. */
export async function copied(t: TestContext): Promise<string> {
  if (!existsSync(template)) {
    const { path } = await openLedger(t)
    const database = new DatabaseSync(path)
    database.exec(`vacuum into '${template}'`)
    database.close()
  }
  const path = join(temporaryDir(t), databaseFileName)
  copyFileSync(template, path)
  return path
}

export async function verified(path: string): Promise<LedgerVerdict> {
  const connection = openReader(path)
  try {
    return await inSnapshot(connection, verifyLedger)
  } finally {
    connection.close()
  }
}

/** Changes the file as somebody with root would. */
export function tamper(path: string, ...statements: string[]): void {
  const database = new DatabaseSync(path)
  for (const trigger of ['journal_stays', 'entries_stay', 'entries_remain']) {
    database.exec(`drop trigger if exists ${trigger}`)
  }
  for (const statement of statements) database.exec(statement)
  database.close()
}

/** Looks when told, by an interval that is shorter than any test. */
export async function watching(
  t: TestContext,
  path: string,
): Promise<(isFound: (verdict: LedgerVerdict) => boolean) => Promise<LedgerVerdict>> {
  let tell: (verdict: LedgerVerdict) => void = () => {}
  const stop = watchInThread(path, 20, {
    verdict: (verdict) => tell(verdict),
    failed: (error) => assert.fail(String(error)),
  })
  t.after(stop)
  return (isFound) => {
    const { promise, resolve } = Promise.withResolvers<LedgerVerdict>()
    tell = (verdict) => {
      if (isFound(verdict)) resolve(verdict)
    }
    return promise
  }
}
