import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { apply, LedgerBroken } from './apply.ts'
import { restoreState, storedPartOf, encodeHolds } from './checkpoint.ts'
import { accountBook, transfersOf } from './entries.ts'
import type { LedgerEvent } from './events.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { assertConserved, nanoPrice, TestLedger, usageOf } from './ledger.fixture.ts'
import { costOf } from './price.ts'
import { emptyState, type LedgerState } from './state.ts'

test('a request is held, settled at its usage, and leaves nothing held', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  assert.partialDeepStrictEqual(books.hold('r', { inputTokens: 100 }), {
    outputTokens: 525,
    maximumTokens: 9900,
  })
  assert.equal(books.account().held, 625n)
  assert.deepEqual(books.settle('r', usageOf(90, 50)), { charge: 140n, overrun: 0n })
  assert.partialDeepStrictEqual(books.account(), {
    balance: 9860n,
    held: 0n,
    daySpent: 140n,
    totalSpent: 140n,
  })
  assert.partialDeepStrictEqual(books.key(), { balance: 0n, held: 0n, daySpent: 140n, totalSpent: 140n })
})

test('settled thrice is charged once; extended, marked, released or expired after its end is nothing', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  books.hold('r')
  assert.deepEqual(books.settle('r', usageOf(0, 50)), { charge: 50n, overrun: 0n })
  assert.equal(books.settle('r', usageOf(0, 50)), null)
  assert.equal(books.settle('r', usageOf(0, 99)), null)
  for (const again of [books.extend('r'), books.mark('r', 9), books.release('r'), books.expire('r')]) {
    assert.equal(again, null)
  }
  assert.deepEqual(books.hold('r'), { kind: 'known' })
  assert.equal(books.account().balance, 9950n)
})

test('the same hold asked for twice is one hold', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  books.hold('r')
  const { held } = books.account()
  assert.deepEqual(books.hold('r'), { kind: 'known' })
  assert.equal(books.account().held, held)
})

test('a bill above the hold takes the rest from what is available', () => {
  const books = new TestLedger()
  books.credit(3000n)
  books.hold('r')
  assert.deepEqual(books.settle('r', usageOf(0, 3000)), { charge: 3000n, overrun: 0n })
  assert.equal(books.account().balance, 0n)
  assert.equal(books.account().overran, false)
})

test('what is not there is not charged but is the operator’s overrun, and the account is held higher from then on', () => {
  const books = new TestLedger()
  books.credit(3000n)
  books.hold('r')
  books.hold('other')
  const other = books.state.holds.get('other')?.amount ?? 0n
  const { charge, overrun } = books.settle('r', usageOf(0, 5000)) ?? assert.fail()
  assert.equal(charge, 3000n - other)
  assert.equal(charge + overrun, 5000n)
  assert.equal(books.account().balance, other)
  assert.equal(books.state.overrun, overrun)
  books.settle('other', usageOf(0, 1))
  books.credit(100_000n)
  books.hold('next', { inputTokens: 50 })
  assert.equal(books.state.holds.get('next')?.inputTokens, 100)
})

test('a crash is charged at the last mark, at most what was paid for, and nothing when nothing had come', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  for (const id of ['marked', 'far', 'silent']) books.hold(id)
  books.mark('marked', 10, 7)
  books.mark('marked', 5, 7)
  const paid = books.state.holds.get('far')?.outputTokens ?? 0
  books.mark('far', paid + 500, 3)
  for (const id of ['marked', 'far', 'silent']) books.expire(id)
  assert.equal(books.account().balance, 10_000n - 17n - BigInt(paid + 3))
  assert.equal(books.account().held, 0n)
  assert.equal(books.account().overran, false)
})

test('a credit is entered once, taken back as far as nothing is held, and never makes a balance that no store can keep', () => {
  const books = new TestLedger()
  books.credit(1000n, 'a')
  assert.equal(books.credit(1000n, 'a'), 'known')
  books.hold('r', { askedTokens: 100 })
  const { held } = books.account()
  assert.equal(books.credit(-(1001n - held), 'b'), 'too-much')
  books.credit(-(1000n - held), 'c')
  assert.equal(books.account().balance, held)
  assert.equal(books.credit(4n * 10n ** 18n, 'd'), 'too-large')
})

test('a stream is extended as long as there is money, and its bill is within what it holds', () => {
  const books = new TestLedger()
  books.credit(5000n)
  books.hold('r')
  let paid = 312
  for (;;) {
    const more = books.extend('r')
    if (more === null) break
    assert.ok(more > paid)
    paid = more
    assertConserved(books.state)
  }
  assert.ok(paid > 5000 - 16)
  assert.equal(books.account().held, BigInt(paid))
  assert.deepEqual(books.settle('r', usageOf(0, paid)), { charge: BigInt(paid), overrun: 0n })
})

test('the price of a hold is frozen in it', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  books.hold('old', { price: nanoPrice })
  books.hold('new', { price: { ...nanoPrice, version: 2, output: 2_000_000n }, factorPpm: 500_000 })
  assert.equal(books.settle('old', usageOf(0, 10))?.charge, 10n)
  assert.equal(books.settle('new', usageOf(10, 10))?.charge, 15n)
})

test('requests per day count what was admitted, of the account and of the key; money is asked for first', () => {
  const books = new TestLedger()
  books.credit(1000n)
  for (const id of ['a', 'b']) books.hold(id, { askedTokens: 10, caps: { accountRequestsPerDay: 2 } })
  const asked = { askedTokens: 10, caps: { accountRequestsPerDay: 2 } }
  assert.deepEqual(books.hold('c', asked), { kind: 'requests-per-day', of: 'account', resumesAt: 86_400_000 })
  assert.partialDeepStrictEqual(books.hold('d', { askedTokens: 10, caps: { keyRequestsPerDay: 2 } }), {
    of: 'key',
  })
  assert.ok('event' in books.hold('e', { askedTokens: 10, key: 'other', caps: { keyRequestsPerDay: 1 } }))
  assert.deepEqual(books.hold('f', { inputTokens: 2000, caps: { accountRequestsPerDay: 2 } }), {
    kind: 'balance',
  })
  assert.ok('event' in books.hold('g', { ...asked, at: 86_400_000, dayEnd: 2 * 86_400_000 }))
})

test('an event that cannot follow from the state is refused', () => {
  const held = (() => {
    const books = new TestLedger()
    books.credit(1000n)
    books.hold('r', { askedTokens: 100 })
    return books.events
  })()
  const settled: LedgerEvent = {
    kind: 'settled',
    id: 'r',
    at: 2,
    cause: 'provider',
    usage: usageOf(0, 10),
    charge: 10n,
    overrun: 0n,
  }
  const impossible: LedgerEvent[][] = [
    [...held, { ...settled, charge: 11n }],
    [...held, { ...settled, charge: -5n, overrun: 15n }],
    [...held, settled, settled],
    [...held, { ...settled, charge: 20n, price: { ...nanoPrice, output: nanoPrice.output * 2n } }],
    [...held, ...held.slice(1)],
    [settled],
    [{ kind: 'released', id: 'r', at: 1 }],
    [...held, { kind: 'extended', id: 'r', at: 2, amount: 10_000n, outputTokens: 99 }],
    [...held, { kind: 'extended', id: 'r', at: 2, amount: -1n, outputTokens: 99 }],
    [...held, { ...settled, usage: usageOf(0, 5000), charge: 5000n }],
    held.slice(1),
    [{ kind: 'credited', id: 'c', at: 0, account: 'one', amount: -1n, source: 'credit', reason: '' }],
  ]
  for (const events of impossible) {
    const state = emptyState()
    assert.throws(() => {
      for (const event of events) apply(state, event)
    }, LedgerBroken)
  }
})

const lower = { ...nanoPrice, version: 7, input: nanoPrice.input / 2n }

/** Any operation on a few accounts, keys and requests, many of them pointless. */
const operations = fc.array(
  fc.record({
    what: fc.constantFrom('credit', 'take', 'hold', 'hold', 'extend', 'mark', 'settle', 'release', 'expire'),
    id: fc.nat(12).map(String),
    account: fc.constantFrom('one', 'two'),
    tokens: fc.nat(3000),
    amount: fc.bigInt({ min: 1n, max: 20_000n }),
    manner: fc.constantFrom('stream' as const, 'whole' as const, 'hidden' as const),
    cap: fc.option(fc.bigInt({ min: 0n, max: 5000n })),
  }),
  { maxLength: 120, size: 'max' },
)

/** Carries out any operations and looks after each. */
function carriedOut(steps: typeof operations extends fc.Arbitrary<infer Value> ? Value : never): TestLedger {
  const books = new TestLedger()
  for (const [index, { what, id, account, tokens, amount, manner, cap }] of steps.entries()) {
    const caps = { accountDay: cap, keyTotal: cap === null ? null : cap * 2n }
    const key = `key-${account}`
    if (what === 'credit') books.credit(amount, `c${index}`, account)
    else if (what === 'take') books.credit(-amount, `c${index}`, account)
    else if (what === 'hold') books.hold(id, { account, key, manner, inputTokens: tokens, caps })
    else if (what === 'extend') books.extend(id, 10_000, caps)
    else if (what === 'mark') books.mark(id, tokens, 5)
    else if (what === 'settle')
      books.settle(id, usageOf(tokens, tokens), caps, amount % 2n ? lower : undefined)
    else if (what === 'release') books.release(id)
    else books.expire(id)
    assertConserved(books.state)
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

test('whatever is asked in whatever order: money is conserved, nothing goes below zero, the entries make the balances', () => {
  fc.assert(
    fc.property(operations, (steps) => {
      const { state, events } = carriedOut(steps)
      const books = new Map<string, bigint>()
      const owner = new Map<string, string>()
      let cost = 0n
      for (const event of events) {
        if (event.kind === 'held') owner.set(event.id, event.account)
        if (event.kind === 'settled') cost += costOf(event.price ?? nanoPrice, event.usage, 1_000_000)
        for (const { debit, credit, amount } of transfersOf(event, owner.get(event.id) ?? '')) {
          assert.ok(amount > 0n)
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

test('the journal says everything: written, read and replayed, it gives the same state', () => {
  fc.assert(
    fc.property(operations, (steps) => {
      const { state, events } = carriedOut(steps)
      const read = decodeEvents(encodeEvents(events))
      assert.deepEqual(read, events)
      const replayed = emptyState()
      for (const event of read) apply(replayed, event)
      assertSame(replayed, state)
    }),
    { numRuns: 200 },
  )
})

test('a checkpoint of the holds, the owners’ rows and the journal since give the same as a full replay', () => {
  fc.assert(
    fc.property(operations, fc.nat(120), (steps, at) => {
      const { state, events } = carriedOut(steps)
      const early = emptyState()
      for (const event of events.slice(0, at)) apply(early, event)
      const restored = restoreState({
        holds: at === 0 ? null : encodeHolds(early),
        journal: [encodeEvents(events.slice(at))],
        owners: [...state.owners].map(([id, owner]) => [id, storedPartOf(owner)] as const),
        overrun: state.overrun,
      })
      assertSame(restored, state)
    }),
    { numRuns: 200 },
  )
})
