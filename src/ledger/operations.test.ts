import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apply, LedgerInvariantError } from './apply.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import * as ledger from './operations.ts'
import type { LedgerEvent } from './events.ts'
import { assertMoneyConserved, nanoPrice, TestLedger, usageOf } from './ledger.fixture.ts'
import { emptyState } from './state.ts'

describe('ledger operations', () => {
  test('settle – charges the usage and releases the hold', () => {
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

  test('an ended hold – is charged once; later operations on it do nothing', () => {
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

  test('hold – the same id twice is one hold', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    books.hold('r')
    const { held } = books.account()
    assert.deepEqual(books.hold('r'), { kind: 'known' })
    assert.equal(books.account().held, held)
  })

  test('settle – a cost above the hold is charged to the available balance', () => {
    const books = new TestLedger()
    books.credit(3000n)
    books.hold('r')
    assert.deepEqual(books.settle('r', usageOf(0, 3000)), { charge: 3000n, overrun: 0n })
    assert.equal(books.account().balance, 0n)
    assert.equal(books.account().overran, false)
  })

  test('An overrun is not charged and is marked until the next credit', () => {
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
    assert.equal(books.account().overran, true)
    books.credit(100_000n)
    const replayed = emptyState()
    for (const event of decodeEvents(encodeEvents(books.events))) apply(replayed, event)
    assert.equal(replayed.owners.get('a:one')?.overran, false)
  })

  test('An overrun restricts no later request of the account', () => {
    const books = new TestLedger()
    books.credit(100_000n)
    books.hold('r', { requestedTokens: 5 })
    books.settle('r', usageOf(0, 11), {}, { bound: usageOf(0, 5) })
    assert.equal(books.account().overran, true)
    for (let i = 0; i < 10; i++) assert.ok('event' in books.hold(`next ${i}`, { inputTokens: 7 }))
    assert.equal(books.state.holds.get('next 9')?.inputTokens, 7)
  })

  test('an overrun while nodes of earlier releases run – is not ended by a credit', () => {
    const books = new TestLedger()
    books.credit(100n)
    books.hold('r')
    books.settle('r', usageOf(0, 2000))
    const credit = { id: 'c', at: 0, account: 'one', amount: 5n, source: 'credit', reason: 'a test' } as const
    ledger.credit(books.state, credit, true)
    assert.equal(books.account().overran, true)
  })

  test('a bound of the usage – is charged at most; the rest of the cost is overrun', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    books.hold('r')
    const { charge, overrun } =
      books.settle('r', usageOf(0, 5000), {}, { bound: usageOf(0, 70) }) ?? assert.fail()
    assert.deepEqual([charge, overrun], [70n, 4930n])
    books.credit(1n)
    books.hold('above')
    const { charge: whole } =
      books.settle('above', usageOf(0, 60), {}, { bound: usageOf(0, 70) }) ?? assert.fail()
    assert.equal(whole, 60n)
    assert.equal(books.account().balance, 10_001n - 130n)
  })

  test('a request that may cost all there is – is admitted only while none other runs', () => {
    const books = new TestLedger()
    books.credit(1500n)
    const unseen = { mode: 'non-streaming', maximum: 'unseen', requestedTokens: 1 } as const
    assert.ok('event' in books.hold('first', unseen))
    assert.equal(books.account().held, 1024n)
    assert.deepEqual(books.hold('second', unseen), { kind: 'one-at-a-time' })
    assert.ok('event' in books.hold('obeyed', { ...unseen, maximum: 'obeyed' }))
    for (const id of ['first', 'obeyed']) books.release(id)
    assert.ok('event' in books.hold('alone', { ...unseen, maximum: 'exceeded' }))
    assert.equal(books.account().held, 1500n)
    assert.deepEqual(books.hold('beside', unseen), { kind: 'balance' })
  })

  test('web searches – are held with the request and with its extensions', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    const price = { ...nanoPrice, perSearch: 1000n }
    books.hold('r', { price, searches: 2, requestedTokens: 100 })
    assert.equal(books.account().held, 2100n)
    assert.equal(books.extend('r', 50, {}, 3), 150)
    assert.equal(books.account().held, 5150n)
    assert.equal(books.extend('r', 50, {}, 5), null)
    assert.equal(books.account().held, 5150n)
    assert.deepEqual(books.hold('other', { price, searches: 5 }), { kind: 'balance' })
  })

  test('expire – charges the last mark, at most what was paid for, and nothing without a mark', () => {
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

  test('credit – is entered once, never debits held money, and respects the maximum balance', () => {
    const books = new TestLedger()
    books.credit(1000n, 'a')
    assert.equal(books.credit(1000n, 'a'), 'known')
    books.hold('r', { requestedTokens: 100 })
    const { held } = books.account()
    assert.equal(books.credit(-(1001n - held), 'b'), 'too-much')
    books.credit(-(1000n - held), 'c')
    assert.equal(books.account().balance, held)
    assert.equal(books.credit(4n * 10n ** 18n, 'd'), 'too-large')
  })

  test('extend – continues while money is available, and the bill stays within the hold', () => {
    const books = new TestLedger()
    books.credit(5000n)
    books.hold('r')
    let paid = 312
    for (;;) {
      const more = books.extend('r')
      if (more === null) break
      assert.ok(more > paid)
      paid = more
      assertMoneyConserved(books.state)
    }
    assert.ok(paid > 5000 - 16)
    assert.equal(books.account().held, BigInt(paid))
    assert.deepEqual(books.settle('r', usageOf(0, paid)), { charge: BigInt(paid), overrun: 0n })
  })

  test('a hold – keeps the price it was made at', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    books.hold('old', { price: nanoPrice })
    books.hold('new', { price: { ...nanoPrice, version: 2, output: 2_000_000n }, factorPpm: 500_000 })
    assert.equal(books.settle('old', usageOf(0, 10))?.charge, 10n)
    assert.equal(books.settle('new', usageOf(10, 10))?.charge, 15n)
  })

  test('settle – charges a fallback model’s price if lower, never above the hold’s price', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    const half = { ...nanoPrice, version: 7, output: nanoPrice.output / 2n }
    const double = { ...nanoPrice, version: 8, output: nanoPrice.output * 2n }
    books.hold('lower')
    assert.deepEqual(books.settle('lower', usageOf(0, 100), {}, { otherPrice: half }), {
      charge: 50n,
      overrun: 0n,
    })
    books.hold('higher')
    assert.deepEqual(books.settle('higher', usageOf(0, 100), {}, { otherPrice: double }), {
      charge: 100n,
      overrun: 0n,
    })
    assert.equal(books.account().balance, 9850n)
  })

  test('requests per day – count admissions of account and key; the balance is checked first', () => {
    const books = new TestLedger()
    books.credit(1000n)
    for (const id of ['a', 'b']) books.hold(id, { requestedTokens: 10, caps: { accountRequestsPerDay: 2 } })
    const options = { requestedTokens: 10, caps: { accountRequestsPerDay: 2 } }
    assert.deepEqual(books.hold('c', options), {
      kind: 'requests-per-day',
      of: 'account',
      resumesAt: 86_400_000,
    })
    assert.partialDeepStrictEqual(books.hold('d', { requestedTokens: 10, caps: { keyRequestsPerDay: 2 } }), {
      of: 'key',
    })
    assert.ok(
      'event' in books.hold('e', { requestedTokens: 10, key: 'other', caps: { keyRequestsPerDay: 1 } }),
    )
    assert.deepEqual(books.hold('f', { inputTokens: 2000, caps: { accountRequestsPerDay: 2 } }), {
      kind: 'balance',
    })
    assert.ok('event' in books.hold('g', { ...options, at: 86_400_000, dayEnd: 2 * 86_400_000 }))
  })

  test('apply – throws for events that cannot follow from the state', () => {
    const held = (() => {
      const books = new TestLedger()
      books.credit(1000n)
      books.hold('r', { requestedTokens: 100 })
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
      }, LedgerInvariantError)
    }
  })
})
