/** Creates a ledger of any size with the product's own rules and commit queue, without waiting for the disk. */
import assert from 'node:assert/strict'
import { readChainHead, JournalWriter } from '../../db/sqlite/journal-writer.ts'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { packCommit, unpackCommit } from '../../db/sqlite/packed-commit.ts'
import { openWriter } from '../../db/sqlite/connection.ts'
import { createRequestRow } from '../../db/store.fixture.ts'
import { noCaps, streamHold } from '../../ledger/ledger.fixture.ts'
import type { Price } from '../../ledger/price.ts'
import { accountOwner, emptyState, keyOwner } from '../../ledger/state.ts'
import * as ledger from '../../ledger/operations.ts'
import { CommitQueue } from '../sqlite/commit-queue.ts'

/** 2 and 8 per million tokens, cached input cheaper. */
const price: Price = {
  version: 1,
  input: 2_000_000_000n,
  output: 8_000_000_000n,
  cachedInput: 500_000_000n,
  cacheWrite: null,
  reasoning: null,
  perRequest: 0n,
}
const accounts = 500
const transactionCommits = 2000

export interface LargeLedgerOptions {
  readonly requests: number
  /** Requests that are held and settled in one commit; 1: hold and settlement are separate commits. */
  readonly perCommit: number
}

/** Writes a database file whose entries are one credit per account and one charge per request. */
export async function writeLargeLedger(
  path: string,
  { requests, perCommit }: LargeLedgerOptions,
): Promise<void> {
  const connection = openWriter(path)
  migrateSqlite(connection.database)
  connection.database.exec('pragma synchronous = off; pragma wal_autocheckpoint = 10000; begin')
  const writer = new JournalWriter(connection)
  let head = readChainHead(connection)
  const sink = {
    commit(commit: Parameters<typeof packCommit>[0]): Promise<void> {
      head = writer.write(unpackCommit(packCommit(commit)), head)
      if (head.seq % transactionCommits === 0) connection.database.exec('commit; begin')
      return Promise.resolve()
    },
  }
  const listener = {
    onDurable: () => {},
    onAdmissionChange: () => {},
    onFailure: (why: string) => assert.fail(why),
  }
  const state = emptyState()
  const commits = new CommitQueue(state, { sink, listener, now: () => at }, 0)
  let at = Date.UTC(2026, 10, 1)
  for (let number = 0; number < accounts; number += 1) {
    const account = `acc_${number}`
    const credit = {
      id: `credit_${number}`,
      at,
      account,
      amount: 10n ** 15n,
      source: 'credit',
      reason: 'test',
    }
    const event = ledger.credit(state, { ...credit, source: 'credit' })
    assert.ok(typeof event !== 'string')
    commits.addEvent(event, [accountOwner(account)], account)
  }
  await commits.drain()
  for (let number = 0; number < requests; number += 1) {
    at += 3
    const id = `req_01m7${number.toString(36).padStart(22, '0')}`
    const account = `acc_${(number * 7919) % accounts}`
    const key = `key_${(number * 7919) % accounts}`
    const owners = [accountOwner(account), keyOwner(key)]
    const periods = { dayEnd: Date.UTC(2027, 0, 1), monthEnd: Date.UTC(2027, 0, 1) }
    const about = { id, at, account, key, model: 'family-a-small', ...periods }
    const granted = ledger.hold(state, { ...streamHold, ...about, price, inputTokens: 900, caps: noCaps })
    assert.ok('event' in granted)
    commits.addEvent(granted.event, owners, account)
    if (perCommit === 1) await commits.drain()
    const usage = {
      input: 1000 + (number % 97),
      cachedInput: number % 512,
      cacheWrite: 0,
      output: 90,
      reasoning: 0,
    }
    const settled = ledger.settle(state, { id, at, usage, cause: 'provider', caps: noCaps })
    assert.ok(settled)
    commits.addEvent(settled, owners, account)
    const tokens = { prompt_tokens: usage.input, cached_tokens: usage.cachedInput, completion_tokens: 90 }
    const who = { at, account_id: account, key_id: key, cost_nanos: settled.charge }
    commits.addRequest(createRequestRow(id, { ...tokens, ...who }))
    if (number % perCommit === perCommit - 1) await commits.drain()
  }
  await commits.drain()
  connection.database.exec('commit')
  connection.close()
}
