import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { apply } from './apply.ts'
import { decodeEvents, encodeEvents } from './journal.ts'
import { assertMoneyConserved, TestLedger, usageOf, toStoredOwner } from './ledger.fixture.ts'
import { dayEndOf, dayStartOf, monthEndOf, monthStartOf, type PeriodEnds } from './periods.ts'
import { periodsLeft, periodsToRead, reopen } from './reopen.ts'
import { emptyState, ownerOf } from './state.ts'

const dayMs = 86_400_000
const present = { at: 10 * dayMs + 1, dayEnd: 11 * dayMs, monthEnd: 30 * dayMs }
const ahead = { at: 50 * dayMs + 1, dayEnd: 51 * dayMs, monthEnd: 60 * dayMs }

interface ClockStep {
  readonly action: string
  readonly days: number
  readonly tokens: number
}

const caps = { accountDay: 100n, accountMonth: 300n, keyDay: 90n, keyMonth: 250n }

/** A relay's ledger, rows of settled requests, and the periods that were left. */
class TestRelay {
  readonly books = new TestLedger()
  readonly #left: number[] = []
  readonly #rows: { readonly at: number; readonly cost: bigint }[] = []
  readonly #open: { readonly id: string; readonly at: number }[] = []
  readonly #taken = new Map<string, bigint>()

  #spentIn(from: number, to: number): bigint {
    return this.#rows.reduce((sum, { at, cost }) => (at >= from && at < to ? sum + cost : sum), 0n)
  }

  #remember(left: readonly number[], after: number): void {
    if (left.length === 0) return
    const later = this.#rows.filter(({ at }) => at >= after)
    this.#left.push(...left, ...later.flatMap(({ at }) => [dayEndOf('UTC', at), monthEndOf('UTC', at)]))
  }

  hold(id: string, at: number, requestedTokens: number): void {
    const periods = { at, dayEnd: dayEndOf('UTC', at), monthEnd: monthEndOf('UTC', at) }
    const { state, events } = this.books
    const who = { account: 'one', key: 'key', model: 'm' }
    for (const [owner, ends] of periodsToRead(state.owners, { ...who, ...periods }, this.#left)) {
      this.#remember(periodsLeft(ownerOf(state, owner), ends), ends.dayEnd)
      const daySpent = this.#spentIn(dayStartOf('UTC', at), ends.dayEnd)
      const monthSpent = this.#spentIn(monthStartOf('UTC', at), ends.monthEnd)
      const { totalSpent: totalSpentBefore } = ownerOf(state, owner)
      const rows = { daySpent, dayRequests: 0, monthSpent, totalSpentBefore }
      events.push(reopen(state, { id: owner, at, ...ends, ...rows }))
    }
    const held = this.books.hold(id, { ...periods, mode: 'non-streaming', requestedTokens, caps })
    if ('event' in held) this.#open.push({ id, at })
  }

  /** Settles the oldest hold, and checks the caps of its periods. */
  settle(): void {
    const { id, at } = this.#open.shift() ?? { id: '', at: 0 }
    const held = this.books.state.holds.get(id)
    if (held === undefined) return
    const { charge } = this.books.settle(id, usageOf(0, held.outputTokens), caps) ?? { charge: 0n }
    this.#rows.push({ at, cost: charge })
    const periods = [
      [`day ${held.dayEnd}`, caps.keyDay],
      [`month ${held.monthEnd}`, caps.keyMonth],
    ] as const
    for (const [period, cap] of periods) {
      const sum = (this.#taken.get(period) ?? 0n) + charge
      this.#taken.set(period, sum)
      assert.ok(sum <= cap, `${period} took ${sum} of ${cap}`)
    }
  }
}

function spendWithJumps(steps: readonly ClockStep[]): void {
  const relay = new TestRelay()
  relay.books.credit(1_000_000n)
  // Noon, so that a jump of two days never ends within the tolerance of a day or month.
  let at = Date.parse('2026-11-21T12:00:00Z')
  for (const [index, { action, days, tokens }] of steps.entries()) {
    if (action === 'jump' && Math.abs(days) > 1) at += days * dayMs
    else if (action === 'pass') at += dayMs
    else if (action === 'hold') relay.hold(`${index}`, at, tokens)
    else if (action === 'settle') relay.settle()
  }
  assertMoneyConserved(relay.books.state)
}

describe('periods after a wrong clock', () => {
  test('periodsToRead – those that have not begun or were left before, and no others', () => {
    const { at } = present
    const hourMs = dayMs / 24
    const read = (owner: PeriodEnds, left: readonly number[] = []): PeriodEnds | undefined =>
      periodsToRead(
        new Map([['a:one', owner]]),
        { account: 'one', key: 'key', model: 'm', ...present },
        left,
      )[0]?.[1]
    assert.deepEqual(read(ahead), { dayEnd: 11 * dayMs, monthEnd: 30 * dayMs })
    assert.equal(read(present), undefined)
    const otherZone = { dayEnd: present.dayEnd + hourMs, monthEnd: present.monthEnd + hourMs }
    assert.equal(read(otherZone), undefined)
    assert.equal(read({ dayEnd: 0, monthEnd: 0 }), undefined)
    const onlyDay = { dayEnd: 20 * dayMs, monthEnd: 31 * dayMs }
    assert.deepEqual(read(onlyDay), { dayEnd: 11 * dayMs, monthEnd: 31 * dayMs })

    const yesterday = { dayEnd: at - 1, monthEnd: present.monthEnd }
    assert.equal(read(yesterday), undefined, 'the next day, as every day')
    assert.equal(read(yesterday, [ahead.dayEnd]), undefined)
    const today = { dayEnd: present.dayEnd, monthEnd: present.monthEnd }
    assert.deepEqual(read(yesterday, [present.dayEnd]), today)
    assert.deepEqual(read(yesterday, [present.dayEnd - 8 * hourMs]), today, 'left in another time zone')
    assert.equal(read(present, [present.dayEnd]), undefined)
  })

  test('periodsToRead – a key and a model enter the periods of their account', () => {
    const hourMs = dayMs / 24
    const account = { dayEnd: present.dayEnd + hourMs, monthEnd: present.monthEnd + hourMs }
    const owners = new Map([
      ['a:one', account],
      ['k:key', ahead],
      ['m:one:m', account],
    ])
    const hold = { account: 'one', key: 'key', model: 'm', ...present }
    assert.deepEqual(periodsToRead(owners, hold, []), [['k:key', account]])
    const past = [{ unit: 'day', end: 20 * dayMs, spent: 0n, held: 1n } as const]
    assert.deepEqual(periodsLeft({ ...ahead, past }, account), [ahead.dayEnd, ahead.monthEnd, 20 * dayMs])
    assert.deepEqual(periodsLeft({ ...account, past }, ahead), [])
  })

  test('reopen – restores what was spent, keeps what is held, and replays alike', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    const caps = { accountDay: 100n }
    const nonStreaming = { mode: 'non-streaming', requestedTokens: 30, caps } as const
    books.hold('spent', { ...present, ...nonStreaming })
    books.settle('spent', usageOf(0, 30), caps)
    books.hold('running', { ...present, ...nonStreaming })
    books.hold('ahead', { ...ahead, ...nonStreaming, requestedTokens: 20 })
    const totalSpentBefore = books.account().totalSpent
    books.settle('ahead', usageOf(0, 20), caps)
    // The charge of `ahead` came while the rows were read, and counts in the periods of the present as well.
    const rows = { at: present.at, daySpent: 10n, dayRequests: 2, monthSpent: 10n, totalSpentBefore }
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

  test('clock that jumps by days – no day and no month spends more than its cap', () => {
    const steps = fc.array(
      fc.record({
        action: fc.constantFrom('jump', 'pass', 'hold', 'hold', 'settle'),
        days: fc.integer({ min: -70, max: 70 }),
        tokens: fc.integer({ min: 16, max: 80 }),
      }),
      { maxLength: 60, size: 'max' },
    )
    fc.assert(
      fc.property(steps, (each) => spendWithJumps(each)),
      { numRuns: 500 },
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
