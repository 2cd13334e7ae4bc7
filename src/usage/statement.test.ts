import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLedgerCommit, openAnyStore } from '../db/store.fixture.ts'
import type { EntryRow } from '../db/ledger-commit.ts'
import { creditedBefore, listMovements, type Movement } from './statement.ts'

const book = 'account:acc_one'

function entry(fields: Partial<EntryRow>): EntryRow {
  return {
    at: 1000,
    debit: 'operator:funding',
    credit: book,
    amount_nanos: 0n,
    kind: 'credit',
    account_id: 'acc_one',
    ref: null,
    reason: null,
    source: null,
    ...fields,
  }
}

describe('statement', () => {
  test('listMovements – shows the balance after each, stable while others are added', async (t) => {
    const store = await openAnyStore(t)
    const owner = createLedgerCommit(1).owners[0]
    assert.ok(owner)
    const entries = [
      entry({ amount_nanos: 100n, reason: 'a test', source: 'credit', ref: 'one' }),
      entry({ debit: book, credit: 'operator:revenue', amount_nanos: 30n, kind: 'charge', ref: 'req_one' }),
      entry({ debit: 'operator:overrun', credit: 'operator:revenue', amount_nanos: 9n, kind: 'overrun' }),
      entry({ debit: book, credit: 'operator:funding', amount_nanos: 20n, reason: 'back', source: 'credit' }),
      entry({
        debit: 'operator:funding',
        credit: 'account:acc_two',
        amount_nanos: 7n,
        account_id: 'acc_two',
      }),
    ]
    await store.commit(createLedgerCommit(1, { entries, owners: [{ ...owner, balance_nanos: 50n }] }))
    const first = await listMovements(store.db, 'acc_one', { limit: 2 })
    // New entries do not change the rows below.
    await store.commit(
      createLedgerCommit(2, {
        entries: [entry({ amount_nanos: 5n })],
        owners: [{ ...owner, balance_nanos: 55n }],
      }),
    )
    const second = await listMovements(store.db, 'acc_one', { limit: 2, cursor: first.next ?? '' })
    const shown = ({ amountNanos, balanceNanos, kind }: Movement) => [kind, amountNanos, balanceNanos]
    assert.deepEqual(first.data.map(shown), [
      ['credit', -20n, 50n],
      ['charge', -30n, 70n],
    ])
    assert.deepEqual(second.data.map(shown), [['credit', 100n, 100n]])
    assert.equal(second.next, null)
    assert.equal((await listMovements(store.db, 'acc_one', { limit: 1 })).data[0]?.balanceNanos, 55n)
    assert.deepEqual((await listMovements(store.db, 'acc_none', { limit: 5 })).data, [])
  })

  test('creditedBefore – sums credits and what was taken back, beyond 64 bits, without charges', async (t) => {
    const store = await openAnyStore(t)
    const most = 4n * 10n ** 18n
    const entries = [
      ...[1, 2, 3].map((count) => entry({ amount_nanos: most, reason: 'a test', ref: `c${count}` })),
      entry({ debit: book, credit: 'operator:funding', amount_nanos: 7n, reason: 'back', ref: 'back' }),
      entry({ debit: book, credit: 'operator:revenue', amount_nanos: 30n, kind: 'charge', ref: 'req_one' }),
      entry({ at: 2000, amount_nanos: 5n, reason: 'later', ref: 'later' }),
    ]
    await store.commit(createLedgerCommit(1, { entries }))
    assert.equal(await creditedBefore(store.db, 'acc_one', 2000), 3n * most - 7n)
    assert.equal(await creditedBefore(store.db, 'acc_one', 1000), 0n)
  })
})
