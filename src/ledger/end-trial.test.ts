import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { endTrial } from './end-trial.ts'
import { accountOwner, emptyState, ownerOf, type LedgerState } from './state.ts'
import { credit } from './operations.ts'

const account = 'acc_a'
const at = 1_790_000_000_000

/** An account after some spending, with open requests. */
function accountWith(money: { trial: bigint; paid: bigint; spent: bigint; held: bigint }): LedgerState {
  const state = emptyState()
  credit(state, { id: 'trial', at, account, amount: money.trial, source: 'trial', reason: 'r' })
  if (money.paid > 0n) {
    credit(state, { id: 'paid', at, account, amount: money.paid, source: 'payment', reason: 'r' })
  }
  const owner = ownerOf(state, accountOwner(account))
  owner.balance -= money.spent
  owner.totalSpent += money.spent
  owner.held = money.held
  return state
}

function end(state: LedgerState, amount: bigint, id = 'end'): { taken: bigint; isDone: boolean } {
  const { event, isDone } = endTrial(state, { id, at, account, amount, spentBefore: 0n, reason: 'over' })
  return { taken: event ? -event.amount : 0n, isDone }
}

describe('endTrial', () => {
  test('the unspent part – is taken back, and trial credit is spent before other money', () => {
    assert.deepEqual(end(accountWith({ trial: 10n, paid: 0n, spent: 3n, held: 0n }), 10n), {
      taken: 7n,
      isDone: true,
    })
    assert.deepEqual(end(accountWith({ trial: 10n, paid: 5n, spent: 8n, held: 0n }), 10n), {
      taken: 2n,
      isDone: true,
    })
    assert.deepEqual(end(accountWith({ trial: 10n, paid: 5n, spent: 12n, held: 0n }), 10n), {
      taken: 0n,
      isDone: true,
    })
  })

  test('held money – is not touched; a later call takes the rest', () => {
    const state = accountWith({ trial: 10n, paid: 0n, spent: 2n, held: 6n })
    assert.deepEqual(end(state, 10n), { taken: 2n, isDone: false })
    const owner = ownerOf(state, accountOwner(account))
    owner.held = 0n
    owner.balance -= 5n
    owner.totalSpent += 5n
    assert.deepEqual(end(state, 8n, 'end 2'), { taken: 1n, isDone: true })
    assert.equal(owner.balance, 0n)
  })

  test('a repeated entry id – takes nothing twice', () => {
    const state = accountWith({ trial: 10n, paid: 10n, spent: 0n, held: 0n })
    assert.equal(end(state, 10n).taken, 10n)
    assert.deepEqual(end(state, 10n), { taken: 0n, isDone: false })
    assert.equal(ownerOf(state, accountOwner(account)).balance, 10n)
  })

  test('any spending and holds – paid money is never taken and holds stay covered', () => {
    const nanos = fc.bigInt(0n, 1000n)
    fc.assert(
      fc.property(fc.bigInt(1n, 1000n), nanos, nanos, nanos, (trial, paid, spending, holding) => {
        const spent = spending % (trial + paid + 1n)
        const held = holding % (trial + paid - spent + 1n)
        const state = accountWith({ trial, paid, spent, held })
        const { taken, isDone } = end(state, trial)
        const { balance } = ownerOf(state, accountOwner(account))
        const unspent = trial > spent ? trial - spent : 0n
        assert.ok(taken <= unspent && balance >= held)
        assert.ok(balance >= paid - (spent > trial ? spent - trial : 0n))
        if (held === 0n) assert.equal(taken, unspent)
        assert.equal(isDone, taken === unspent || held === 0n)
      }),
      { numRuns: 5000 },
    )
  })
})
