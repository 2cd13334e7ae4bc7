/** Laws of the ledger, checked over random sequences of operations. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { apply } from './apply.ts'
import { restoreState, encodeHolds } from './checkpoint.ts'
import { accountBook, entryRowsOf } from './entries.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import {
  assertMoneyConserved,
  nanoPrice,
  TestLedger,
  usageOf,
  toStoredOwner,
  type TestTakeBackOptions,
} from './ledger.fixture.ts'
import { isPayback, paybackUndoneIds } from './payback-ids.ts'
import { costOf } from './price.ts'
import { emptyState, type LedgerState } from './state.ts'

const cheaperPrice = { ...nanoPrice, version: 7, input: nanoPrice.input / 2n }

/** Random operations on a few accounts, keys and requests, many of them no-ops. */
const operations = fc.array(
  fc.record({
    action: fc.constantFrom(
      'credit',
      'take',
      'pay back',
      'give back',
      'hold',
      'hold',
      'extend',
      'mark',
      'settle',
      'release',
      'expire',
    ),
    id: fc.nat(12).map(String),
    account: fc.constantFrom('one', 'two'),
    tokens: fc.nat(3000),
    amount: fc.bigInt({ min: 1n, max: 20_000n }),
    mode: fc.constantFrom('stream' as const, 'non-streaming' as const, 'hidden' as const),
    cap: fc.option(fc.bigInt({ min: 0n, max: 5000n })),
  }),
  { maxLength: 120, size: 'max' },
)

function payback(payment: bigint, account: string, cap: bigint | null): TestTakeBackOptions {
  return { payment, bonus: payment / 5n, account, mode: cap === null ? 'all' : 'available' }
}

/** Runs the operations and checks the invariants after each. */
function runSteps(steps: typeof operations extends fc.Arbitrary<infer Value> ? Value : never): TestLedger {
  const books = new TestLedger()
  for (const [index, { action, id, account, tokens, amount, mode, cap }] of steps.entries()) {
    const caps = { accountDay: cap, keyTotal: cap === null ? null : cap * 2n }
    const key = `key-${account}`
    if (action === 'credit') books.credit(amount, `c${index}`, account)
    else if (action === 'take') books.credit(-amount, `c${index}`, account)
    else if (action === 'pay back') books.takeBack(id, payback(amount, account, cap))
    else if (action === 'give back') books.credit(amount, paybackUndoneIds(id).payment, account)
    else if (action === 'hold') books.hold(id, { account, key, mode, inputTokens: tokens, caps })
    else if (action === 'extend') books.extend(id, 10_000, caps)
    else if (action === 'mark') books.mark(id, tokens, 5)
    else if (action === 'settle')
      books.settle(id, usageOf(tokens, tokens), caps, {
        ...(amount % 2n ? { otherPrice: cheaperPrice } : {}),
        ...(amount % 3n ? { bound: usageOf(tokens, tokens >> 1) } : {}),
      })
    else if (action === 'release') books.release(id)
    else books.expire(id)
    assertMoneyConserved(books.state)
  }
  return books
}

function assertSame(left: LedgerState, right: LedgerState): void {
  const owners = (state: LedgerState) =>
    new Map([...state.owners].map(([id, owner]) => [id, { ...owner, past: [] }]))
  assert.deepEqual(owners(left), owners(right))
  assert.deepEqual(left.holds, right.holds)
  assert.equal(left.overrun, right.overrun)
}

describe('ledger laws', () => {
  test('any sequence – conserves money, never goes below zero, and entries sum to balances', () => {
    fc.assert(
      fc.property(operations, (steps) => {
        const { state, events } = runSteps(steps)
        const books = new Map<string, bigint>()
        const owner = new Map<string, string>()
        let cost = 0n
        for (const event of events) {
          if (event.kind === 'held') owner.set(event.id, event.account)
          if (event.kind === 'settled') cost += costOf(event.price ?? nanoPrice, event.usage, 1_000_000)
          for (const { debit, credit, amount_nanos: amount } of entryRowsOf(
            event,
            owner.get(event.id) ?? '',
          )) {
            assert.ok(amount > 0n || isPayback(event.id))
            books.set(debit, (books.get(debit) ?? 0n) - amount)
            books.set(credit, (books.get(credit) ?? 0n) + amount)
          }
        }
        let total = 0n
        for (const amount of books.values()) total += amount
        assert.equal(total, 0n, 'the books sum to 0')
        assert.equal(books.get('operator:revenue') ?? 0n, cost, 'every bill is revenue')
        assert.equal(-(books.get('operator:overrun') ?? 0n), state.overrun)
        for (const id of ['one', 'two']) {
          assert.equal(books.get(accountBook(id)) ?? 0n, state.owners.get(`a:${id}`)?.balance ?? 0n)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('the journal – encoded, decoded and replayed, gives the same state', () => {
    fc.assert(
      fc.property(operations, (steps) => {
        const { state, events } = runSteps(steps)
        const read = decodeEvents(encodeEvents(events))
        assert.deepEqual(read, events)
        const replayed = emptyState()
        for (const event of read) apply(replayed, event)
        assertSame(replayed, state)
      }),
      { numRuns: 200 },
    )
  })

  test('a restore – from checkpoint, owners and journal equals a full replay', () => {
    fc.assert(
      fc.property(operations, fc.nat(120), (steps, at) => {
        const { state, events } = runSteps(steps)
        const early = emptyState()
        for (const event of events.slice(0, at)) apply(early, event)
        const restored = restoreState({
          holds: at === 0 ? null : encodeHolds(early),
          journal: [encodeEvents(events.slice(at))],
          owners: [...state.owners].map(([id, owner]) => [id, toStoredOwner(owner)] as const),
          overrun: state.overrun,
        })
        assertSame(restored, state)
      }),
      { numRuns: 200 },
    )
  })
})
