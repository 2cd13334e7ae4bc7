import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestRow, StoredResponseRow } from '../db/ledger-commit.ts'
import { decide } from './decide.ts'
import type { LedgerEvent } from './events.ts'
import { noCaps, streamHold, usageOf } from './ledger.fixture.ts'
import type { RequestOutcome } from './request-row.ts'
import { emptyOwner, emptyState } from './state.ts'
import type { LedgerTransaction, Results, RetiredHold } from './transaction.ts'

const claim = { key: 'key', body: 'body' }
const at = 1000

const outcome: RequestOutcome = {
  httpStatus: 200,
  outcome: 'ok',
  upstream: 'up',
  finish: 'stop',
  errorCode: null,
  firstTokenMs: 1,
  durationMs: 2,
  attempts: '[]',
  upstreamCost: null,
  isClamped: false,
  stream: true,
  model: 'm',
}

/** A ledger whose account `acc` has 10,000 nanos, and what was decided. */
class MemoryTransaction implements LedgerTransaction {
  readonly state = emptyState()
  readonly events: LedgerEvent[] = []
  readonly owners = new Set<string>()
  readonly requests: RequestRow[] = []
  readonly storedResponses = new Map<string, StoredResponseRow>()
  readonly retired = new Map<string, RetiredHold>()

  constructor() {
    const source = 'credit' as const
    const credit = { id: 'first', at, account: 'acc', amount: 10_000n, source, reason: 'test' }
    decide(this, { kind: 'credit', credit })
  }

  storedBy(name: string, seenCommit: number): number | null {
    return this.storedResponses.has(name) && seenCommit < 7 ? 7 : null
  }

  takeRetired(id: string): RetiredHold | undefined {
    const retired = this.retired.get(id)
    this.retired.delete(id)
    return retired
  }

  addEvent(event: LedgerEvent, owners: readonly string[]): void {
    this.events.push(event)
    for (const owner of owners) this.owners.add(owner)
  }

  addRequest(row: RequestRow): void {
    this.requests.push(row)
  }

  addStoredResponse(row: StoredResponseRow, name: string): void {
    this.storedResponses.set(name, row)
  }
}

function hold(transaction: MemoryTransaction, id: string, fields: object = {}): Results['hold'] {
  const who = { id, at, account: 'acc', key: 'key', model: 'm', dayEnd: 2000, monthEnd: 3000 }
  const operation = { ...streamHold, ...who, modelTokens: 100, caps: noCaps, claim, ...fields }
  return decide(transaction, { kind: 'hold', hold: operation, timezone: 'UTC' })
}

function settle(
  transaction: MemoryTransaction,
  id: string,
  tokens: number | null,
  isComplete: boolean,
): bigint {
  const usage = tokens === null ? null : usageOf(0, tokens)
  const request = { id, usage, cause: 'provider' as const, servedModel: null, outcome }
  const storedResponse = { sealed: null, isComplete }
  return decide(transaction, {
    kind: 'settle',
    request,
    storedResponse,
    otherPrice: undefined,
    at,
    caps: noCaps,
  })
}

describe('decide', () => {
  test('key of an open hold – conflicts, for its account alone', () => {
    const transaction = new MemoryTransaction()
    assert.ok('event' in hold(transaction, 'one'))
    const conflict = hold(transaction, 'two')
    assert.ok('kind' in conflict && conflict.kind === 'running')
    assert.equal(conflict.by.id, 'one')
    assert.deepEqual(hold(transaction, 'three', { account: 'poor' }), { kind: 'balance' })
  })

  test('searches that cannot be paid – are denied with 0, and change nothing', () => {
    const transaction = new MemoryTransaction()
    const price = { ...streamHold.price, perSearch: 4_000n }
    assert.ok('event' in hold(transaction, 'one', { price, searches: 1 }))
    const extend = (): number =>
      decide(transaction, { kind: 'extend', id: 'one', at, remaining: 1, searches: 1, caps: noCaps })
    assert.ok(extend() > 0)
    const before = transaction.events.length
    assert.equal(extend(), 0)
    assert.equal(transaction.events.length, before)
  })

  for (const { title, tokens, isComplete, isStored } of [
    { title: 'charged, truncated', tokens: 5, isComplete: false, isStored: true },
    { title: 'free, complete', tokens: 0, isComplete: true, isStored: true },
    { title: 'free, truncated', tokens: 0, isComplete: false, isStored: false },
    { title: 'released', tokens: null, isComplete: true, isStored: false },
  ]) {
    test(`claimed key, ${title} – its response is ${isStored ? '' : 'not '}stored`, () => {
      const transaction = new MemoryTransaction()
      hold(transaction, 'one')
      assert.equal(settle(transaction, 'one', tokens, isComplete), BigInt(tokens ?? 0))
      assert.equal(transaction.storedResponses.size, isStored ? 1 : 0)
      assert.equal(transaction.requests.length, 1)
      const repeated = hold(transaction, 'two')
      if (isStored) assert.deepEqual(repeated, { kind: 'stored', commit: 7 })
      else assert.ok('event' in repeated)
    })
  }

  test('hold for a model with requests per day – counts them in an owner of their own', () => {
    const transaction = new MemoryTransaction()
    hold(transaction, 'one', { caps: { ...noCaps, modelRequestsPerDay: 5 } })
    assert.deepEqual([...transaction.owners], ['a:acc', 'k:key', 'm:acc:m'])
  })

  for (const { title, caps, others, charge, overrun } of [
    { title: 'nothing may be charged', caps: null, others: 0n, charge: 0n, overrun: 7n },
    { title: 'enough money', caps: noCaps, others: 0n, charge: 7n, overrun: 0n },
    { title: 'a cap', caps: { ...noCaps, keyDay: 4n }, others: 0n, charge: 4n, overrun: 3n },
    { title: 'money that others hold', caps: noCaps, others: 9_998n, charge: 2n, overrun: 5n },
  ]) {
    test(`bill of a hold whose node was retired, ${title} – charges ${charge}, once`, () => {
      const transaction = new MemoryTransaction()
      const result = hold(new MemoryTransaction(), 'one')
      assert.ok('event' in result)
      const retired = { hold: { ...result.event, mark: null }, charge: 3n, caps }
      transaction.retired.set('one', retired).set('two', retired)
      hold(transaction, 'open', { key: 'another', claim: undefined })
      transaction.state.owners.set('k:key', { ...emptyOwner(), dayEnd: 2000, monthEnd: 3000 })
      const account = transaction.state.owners.get('a:acc')
      const open = transaction.state.holds.get('open')
      assert.ok(account && open)
      account.balance += open.amount - others
      for (const id of ['one', 'one', 'two']) settle(transaction, id, id === 'one' ? 10 : 2, true)
      const periods = { key: 'key', dayEnd: 2000, monthEnd: 3000 }
      const found = transaction.events.filter(({ kind }) => kind === 'late')
      const late = { kind: 'late', id: 'one', at, account: 'acc', overrun }
      assert.deepEqual(found, [
        { ...late, charge: charge === 0n ? undefined : { ...periods, amount: charge } },
      ])
      assert.deepEqual([transaction.state.overrun, transaction.requests.length], [overrun, 0])
      assert.equal(account.balance, 10_000n + open.amount - others - charge)
      assert.equal(transaction.state.owners.get('k:key')?.totalSpent, charge)
    })
  }

  test('expired hold – is charged at its mark, with a row that says so', () => {
    const transaction = new MemoryTransaction()
    hold(transaction, 'one')
    decide(transaction, { kind: 'mark', id: 'one', at, inputTokens: 1, outputTokens: 4 })
    const expire = { kind: 'expire', id: 'one', at: at + 9, caps: noCaps, upstream: 'up' } as const
    assert.deepEqual([decide(transaction, expire), decide(transaction, expire)], [5n, null])
    const [row] = transaction.requests
    assert.partialDeepStrictEqual(row, { outcome: 'ended', cost_nanos: 5n, duration_ms: 9 })
    assert.equal(row?.balance_nanos, 9995n)
  })
})
