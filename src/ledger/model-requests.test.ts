import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeHolds, restoreState } from './checkpoint.ts'
import { apply } from './apply.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { TestLedger, toStoredOwner } from './ledger.fixture.ts'
import { emptyState } from './state.ts'

const day = 86_400_000
const caps = { modelRequestsPerDay: 2 }

describe('model requests per day', () => {
  test('model requests per day – count per account and day, independently of other models', () => {
    const books = new TestLedger()
    books.credit(1000n)
    books.credit(1000n, 'other', 'two')
    const options = { requestedTokens: 10, caps }
    for (const id of ['a', 'b']) assert.ok('event' in books.hold(id, options))
    assert.deepEqual(books.hold('c', options), { kind: 'requests-per-day', of: 'model', resumesAt: day })
    books.release('a')
    assert.partialDeepStrictEqual(
      books.hold('d', options),
      { of: 'model' },
      'admissions count, whatever becomes of them',
    )
    assert.ok('event' in books.hold('e', { ...options, account: 'two' }))
    assert.ok('event' in books.hold('f', { requestedTokens: 10 }), 'nothing is counted without a limit')
    assert.ok('event' in books.hold('g', { ...options, at: day, dayEnd: 2 * day }))
    assert.deepEqual(
      [...books.state.owners]
        .filter(([id]) => id.startsWith('m:'))
        .map(([id, owner]) => [id, owner.dayRequests]),
      [
        ['m:one:m', 1],
        ['m:two:m', 1],
      ],
    )
  })

  test('model request counts – are restored from the journal and from a checkpoint', () => {
    const books = new TestLedger()
    books.credit(1000n)
    const claim = { key: 'k', body: 'b' }
    books.hold('both', { requestedTokens: 10, caps, claim })
    books.hold('counted', { requestedTokens: 10, caps })
    books.hold('claimed', { requestedTokens: 10, claim: { key: 'l', body: 'b' } })
    books.hold('plain', { requestedTokens: 10 })
    const decoded = decodeEvents(encodeEvents(books.events))
    assert.deepEqual(decoded, books.events)
    const replayed = emptyState()
    for (const event of decoded) apply(replayed, event)
    assert.deepEqual(replayed.owners, books.state.owners)
    assert.equal(encodeHolds(replayed), encodeHolds(books.state))
    const restored = restoreState({
      holds: encodeHolds(books.state),
      journal: [],
      owners: [...books.state.owners].map(([id, owner]) => [id, toStoredOwner(owner)] as const),
      overrun: 0n,
    })
    assert.deepEqual(restored.owners, books.state.owners)
    assert.equal(encodeHolds(restored), encodeHolds(books.state))
  })
})
