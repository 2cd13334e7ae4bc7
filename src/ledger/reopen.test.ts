import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apply } from './apply.ts'
import { toStoredOwner } from './checkpoint.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { assertMoneyConserved, TestLedger, usageOf } from './ledger.fixture.ts'
import { dayEndOf, dayStartOf, monthEndOf, monthStartOf } from './periods.ts'
import { periodsToReopen, reopen } from './reopen.ts'
import { emptyState } from './state.ts'

const dayMs = 86_400_000
const present = { at: 10 * dayMs + 1, dayEnd: 11 * dayMs, monthEnd: 30 * dayMs }
const ahead = { at: 50 * dayMs + 1, dayEnd: 51 * dayMs, monthEnd: 60 * dayMs }

describe('periods after a clock that was ahead', () => {
  test('periodsToReopen – those that have not begun, and no others', () => {
    const { at } = present
    const hourMs = dayMs / 24
    assert.deepEqual(periodsToReopen(ahead, at, present), { dayEnd: 11 * dayMs, monthEnd: 30 * dayMs })
    assert.equal(periodsToReopen(present, at, present), null)
    const otherZone = { dayEnd: present.dayEnd + hourMs, monthEnd: present.monthEnd + hourMs }
    assert.equal(periodsToReopen(otherZone, at, present), null)
    assert.equal(periodsToReopen({ dayEnd: 0, monthEnd: 0 }, at, present), null)
    const onlyDay = { dayEnd: 20 * dayMs, monthEnd: 31 * dayMs }
    assert.deepEqual(periodsToReopen(onlyDay, at, present), { dayEnd: 11 * dayMs, monthEnd: 31 * dayMs })
  })

  test('reopen – restores what was spent, keeps what is held, and replays alike', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    const caps = { accountDay: 100n }
    const nonStreaming = { mode: 'non-streaming', requestedTokens: 30, caps } as const
    books.hold('spent', { ...present, ...nonStreaming })
    books.settle('spent', usageOf(0, 30), caps)
    books.hold('running', { ...present, ...nonStreaming })
    books.hold('ahead', { ...ahead, ...nonStreaming, requestedTokens: 90 })
    books.settle('ahead', usageOf(0, 90), caps)
    const rows = { at: present.at, daySpent: 30n, dayRequests: 2, monthSpent: 30n }
    for (const id of ['a:one', 'k:key']) books.events.push(reopen(books.state, { id, ...present, ...rows }))
    assert.partialDeepStrictEqual(books.account(), { daySpent: 30n, dayHeld: 30n, dayRequests: 2 })
    books.settle('running', usageOf(0, 30), caps)
    assert.equal(books.account().daySpent, 60n)
    const last = books.hold('last', { ...present, ...nonStreaming, requestedTokens: 41 })
    assert.ok('event' in last && last.maximumTokens === 40, 'the rest of the cap')
    assertMoneyConserved(books.state)

    const replayed = emptyState()
    for (const event of decodeEvents(encodeEvents(books.events))) apply(replayed, event)
    assert.deepEqual(
      [...replayed.owners].map(([id, owner]) => [id, toStoredOwner(owner)]),
      [...books.state.owners].map(([id, owner]) => [id, toStoredOwner(owner)]),
    )
  })

  test('start of a day and of a month – is the end of the previous one', () => {
    for (const zone of ['Asia/Shanghai', 'America/New_York', 'Asia/Kathmandu', 'America/Havana']) {
      for (const date of ['2026-03-08T12:00:00Z', '2026-11-01T05:30:00Z', '2028-02-29T23:59:59Z']) {
        const at = Date.parse(date)
        const [dayStart, monthStart] = [dayStartOf(zone, at), monthStartOf(zone, at)]
        assert.equal(dayEndOf(zone, dayStart - 1), dayStart, `${zone} ${date}`)
        assert.equal(dayEndOf(zone, dayStart), dayEndOf(zone, at))
        assert.equal(monthEndOf(zone, monthStart - 1), monthStart)
        assert.equal(monthEndOf(zone, monthStart), monthEndOf(zone, at))
      }
    }
  })
})
