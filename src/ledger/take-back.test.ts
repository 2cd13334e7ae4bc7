import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { entryRowsOf } from './entries.ts'
import { encodeEvents } from './journal.ts'
import { isPayback, paybackIds, paybackUndoneIds } from './payback-ids.ts'
import { TestLedger } from './ledger.fixture.ts'
import { accountOwner, ownerOf } from './state.ts'
import { credit } from './operations.ts'

const account = 'one'

/** An account with this balance, of which this much is held. */
function ledgerWith(balance: bigint, held = 0n): TestLedger {
  const ledger = new TestLedger()
  ledger.credit(balance)
  ownerOf(ledger.state, accountOwner(account)).held = held
  return ledger
}

describe('takeBack', () => {
  test('both parts – are one negative entry each, with the ids of the refund', () => {
    const ledger = ledgerWith(100n)
    assert.deepEqual(ledger.takeBack('r1', { mode: 'all', payment: 60n, bonus: 6n }), {
      kind: 'taken',
      payment: 60n,
      bonus: 6n,
      balance: 34n,
    })
    const [, ...rows] = ledger.events.flatMap((event) => entryRowsOf(event, ''))
    assert.deepEqual(
      rows.map(({ ref, source, debit, amount_nanos: amount }) => [ref, source, debit, amount]),
      [
        ['payback:r1', 'payment', 'account:one', 60n],
        ['payback-bonus:r1', 'bonus', 'account:one', 6n],
      ],
    )
  })

  test('the journal – has them as any credit, which earlier releases read', () => {
    const ledger = new TestLedger()
    ledger.credit(10n, 'c')
    ledger.takeBack('r1', { payment: 8n, bonus: 2n })
    assert.deepEqual(JSON.parse(encodeEvents(ledger.events.slice(1))), [
      ['c', 'payback:r1', 1, 'one', '-8', 'payment', 'a refund'],
      ['c', 'payback-bonus:r1', 1, 'one', '-2', 'bonus', 'a refund'],
    ])
  })

  test('held money – is not touched: all is refused, and available takes the rest', () => {
    const ledger = ledgerWith(100n, 45n)
    assert.deepEqual(ledger.takeBack('r1', { mode: 'all', payment: 50n, bonus: 6n }), {
      kind: 'too-much',
      free: 55n,
    })
    assert.equal(ledger.events.length, 1)
    assert.partialDeepStrictEqual(ledger.takeBack('r1', { payment: 50n, bonus: 6n }), {
      payment: 50n,
      bonus: 5n,
    })
    assert.partialDeepStrictEqual(ledger.takeBack('r2', { payment: 50n }), { payment: 0n, balance: 45n })
  })

  test('a repetition – takes nothing more, and answers what was taken then', () => {
    const ledger = ledgerWith(10n)
    ledger.takeBack('r1', { payment: 8n, bonus: 4n })
    ledger.credit(100n)
    const repeated = ledger.takeBack('r1', { mode: 'all', payment: 8n, bonus: 4n })
    assert.deepEqual(repeated, { kind: 'taken', payment: 8n, bonus: 2n, balance: 100n })
  })

  test('nothing free – is recorded: a repetition does not take what has come since', () => {
    const ledger = ledgerWith(10n, 10n)
    assert.partialDeepStrictEqual(ledger.takeBack('r1', { payment: 8n, bonus: 4n }), {
      payment: 0n,
      bonus: 0n,
    })
    ledger.credit(100n)
    assert.partialDeepStrictEqual(ledger.takeBack('r1', { payment: 8n, bonus: 4n }), {
      payment: 0n,
      balance: 110n,
    })
    assert.equal(ledger.events.filter(({ id }) => isPayback(id)).length, 1)
  })

  test('a bonus alone, and an amount that is not positive – never add money', () => {
    const ledger = ledgerWith(10n)
    assert.partialDeepStrictEqual(ledger.takeBack('r1', { bonus: 4n }), {
      payment: 0n,
      bonus: 4n,
      balance: 6n,
    })
    assert.partialDeepStrictEqual(ledger.takeBack('r2', { payment: -5n }), { payment: 0n, balance: 6n })
  })

  test('given back – the balance and the restrictions of an overrun are as before', () => {
    const ledger = ledgerWith(100n)
    const owner = ownerOf(ledger.state, accountOwner(account))
    owner.overran = true
    ledger.takeBack('r1', { payment: 50n, bonus: 5n })
    const ids = paybackUndoneIds('r1')
    for (const [source, amount] of [
      ['payment', 50n],
      ['bonus', 5n],
    ] as const) {
      const order = { id: ids[source], at: 2, account, amount, source, reason: 'refused' }
      assert.ok(typeof credit(ledger.state, order) !== 'string')
      assert.equal(credit(ledger.state, order), 'known')
    }
    assert.deepEqual([owner.balance, owner.overran], [100n, true])
    ledger.credit(1n)
    assert.equal(owner.overran, false)
  })

  test('any amounts – holds stay covered, and no more is taken than wanted', () => {
    const nanos = fc.bigInt(0n, 1000n)
    const mode = fc.constantFrom('all' as const, 'available' as const)
    fc.assert(
      fc.property(fc.tuple(nanos, nanos), nanos, nanos, mode, ([balance, holding], payment, bonus, how) => {
        const held = holding % (balance + 1n)
        const ledger = ledgerWith(balance, held)
        const result = ledger.takeBack('r1', { mode: how, payment, bonus })
        const free = balance - held
        const wanted = payment + bonus
        if (result.kind === 'too-much') {
          assert.ok(how === 'all' && wanted > free && result.free === free)
          assert.equal(ledger.account().balance, balance)
          return
        }
        const taken = result.payment + result.bonus
        assert.equal(taken, wanted < free ? wanted : free)
        assert.equal(result.payment, payment < free ? payment : free)
        assert.equal(ledger.account().balance, balance - taken)
        assert.equal(result.balance, balance - taken)
      }),
      { numRuns: 5000 },
    )
  })
})

describe('ids of paybacks', () => {
  test('every id of a payback – is one, and those of other credits are not', () => {
    for (const id of Object.values({ ...paybackIds('r'), undone: paybackUndoneIds('r').payment }))
      assert.ok(isPayback(id))
    for (const id of ['payment:alipay:m:1', 'bonus:S1', 'credit:acc:payback:r', 'voucher:v', 'trial:a'])
      assert.ok(!isPayback(id))
  })
})
