import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeHolds, restoreState, storedPartOf } from './checkpoint.ts'
import { apply } from './apply.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { TestLedger } from './ledger.fixture.ts'
import { emptyState } from './state.ts'

const day = 86_400_000
const caps = { modelRequestsPerDay: 2 }

test('requests per day of a model count for each account, in its day, beside those of other models', () => {
  const books = new TestLedger()
  books.credit(1000n)
  books.credit(1000n, 'other', 'two')
  const asked = { askedTokens: 10, caps }
  for (const id of ['a', 'b']) assert.ok('event' in books.hold(id, asked))
  assert.deepEqual(books.hold('c', asked), { kind: 'requests-per-day', of: 'model', resumesAt: day })
  books.release('a')
  assert.partialDeepStrictEqual(
    books.hold('d', asked),
    { of: 'model' },
    'admissions count, whatever comes of them',
  )
  assert.ok('event' in books.hold('e', { ...asked, account: 'two' }))
  assert.ok('event' in books.hold('f', { askedTokens: 10 }), 'without a limit nothing is counted')
  assert.ok('event' in books.hold('g', { ...asked, at: day, dayEnd: 2 * day }))
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

test('the count is in the journal, with a claim or without, and comes back from it and from a checkpoint', () => {
  const books = new TestLedger()
  books.credit(1000n)
  const claim = { key: 'k', body: 'b' }
  books.hold('both', { askedTokens: 10, caps, claim })
  books.hold('counted', { askedTokens: 10, caps })
  books.hold('claimed', { askedTokens: 10, claim: { key: 'l', body: 'b' } })
  books.hold('plain', { askedTokens: 10 })
  const decoded = decodeEvents(encodeEvents(books.events))
  assert.deepEqual(decoded, books.events)
  const replayed = emptyState()
  for (const event of decoded) apply(replayed, event)
  assert.deepEqual(replayed.owners, books.state.owners)
  assert.equal(encodeHolds(replayed), encodeHolds(books.state))
  const restored = restoreState({
    holds: encodeHolds(books.state),
    journal: [],
    owners: [...books.state.owners].map(([id, owner]) => [id, storedPartOf(owner)] as const),
    overrun: 0n,
  })
  assert.deepEqual(restored.owners, books.state.owners)
  assert.equal(encodeHolds(restored), encodeHolds(books.state))
})
