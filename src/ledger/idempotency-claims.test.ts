import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apply, LedgerInvariantError } from './apply.ts'
import { encodeHolds, restoreState } from './checkpoint.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { nanoPrice, noCaps, streamHold, usageOf } from './ledger.fixture.ts'
import { emptyState, type LedgerState } from './state.ts'
import * as ledger from './operations.ts'

const claim = { key: 'key', body: 'body' }
const periods = { dayEnd: 1e9, monthEnd: 2e9 }

function funded(): LedgerState {
  const state = emptyState()
  for (const account of ['acc', 'other']) {
    const credit = { id: `credit of ${account}`, at: 0, account, amount: 10n ** 9n, reason: 'test' }
    assert.ok(typeof ledger.credit(state, { ...credit, source: 'credit' }) !== 'string')
  }
  return state
}

function hold(state: LedgerState, id: string, account = 'acc'): ReturnType<typeof ledger.hold> {
  const common = { id, at: 0, account, key: 'key', model: 'm', price: nanoPrice, caps: noCaps, claim }
  return ledger.hold(state, { ...streamHold, ...common, ...periods })
}

describe('idempotency claims', () => {
  test('a claimed key – belongs to one open hold of its account', () => {
    const state = funded()
    assert.ok('event' in hold(state, 'req_1'))
    assert.deepEqual(hold(state, 'req_2'), { kind: 'known' })
    assert.ok('event' in hold(state, 'req_3', 'other'))
  })

  for (const [how, end] of Object.entries({
    'settled with a bill': (state: LedgerState) =>
      ledger.settle(state, { id: 'req_1', at: 1, usage: usageOf(1, 1), cause: 'provider', caps: noCaps }),
    released: (state: LedgerState) => ledger.release(state, { id: 'req_1', at: 1 }),
    'expired after a crash': (state: LedgerState) =>
      ledger.expire(state, { id: 'req_1', at: 1, caps: noCaps }),
  })) {
    test(`a claim – ends with its hold when ${how}`, () => {
      const state = funded()
      hold(state, 'req_1')
      assert.ok(end(state))
      assert.equal(state.claims.size, 0)
      assert.ok('event' in hold(state, 'req_2'))
    })
  }

  test('a claim – is restored from the journal and from checkpoints', () => {
    const state = funded()
    const held = hold(state, 'req_1')
    assert.ok('event' in held)
    assert.deepEqual(decodeEvents(encodeEvents([held.event])), [held.event])
    const owners = [...state.owners]
    const journal = [encodeEvents([held.event])]
    for (const from of [
      { holds: null, journal },
      { holds: encodeHolds(state), journal: [] },
    ]) {
      const restored = restoreState({ ...from, owners, overrun: 0n })
      assert.deepEqual([...restored.claims.keys()], [...state.claims.keys()])
      assert.deepEqual(hold(restored, 'req_2'), { kind: 'known' })
    }
  })

  test('a key claimed twice in the journal – is rejected', () => {
    const state = funded()
    const held = hold(state, 'req_1')
    assert.ok('event' in held && held.event.kind === 'held')
    const twice = { ...held.event, id: 'req_2' }
    assert.throws(() => apply(state, twice), LedgerInvariantError)
  })
})
