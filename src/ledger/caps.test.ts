import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Caps } from './caps.ts'
import { ownerAt } from './caps.ts'
import { assertConserved, noCaps, nanoPrice, stream, TestLedger, usageOf } from './ledger.fixture.ts'
import { dateOf, dayEndOf, monthEndOf } from './periods.ts'
import * as ledger from './operations.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const day = (number: number) => ({
  at: number * dayMs + 1,
  dayEnd: (number + 1) * dayMs,
  monthEnd: 40 * dayMs,
})

test('a daily cap refuses when it is reached, says when service resumes, and it does', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  const caps = { accountDay: 100n }
  books.hold('a', { ...day(0), caps, askedTokens: 90 })
  books.settle('a', usageOf(0, 90), caps)
  const denied = { kind: 'cap', cap: 'accountDay', resumesAt: dayMs }
  assert.deepEqual(books.hold('b', { ...day(0), caps, askedTokens: 50, inputTokens: 5 }), denied)
  assert.deepEqual(books.hold('b', { ...day(0), at: dayMs - 1, caps }), denied)
  assert.ok('event' in books.hold('b', { ...day(1), at: dayMs, caps }))
})

for (const [name, unit] of [
  ['accountDay', 'day'],
  ['keyDay', 'day'],
  ['accountMonth', 'month'],
  ['keyMonth', 'month'],
  ['keyTotal', 'ever'],
] as const) {
  test(`the cap ${name} is exact, held money counted in`, () => {
    const books = new TestLedger()
    books.credit(100_000n)
    const caps = { [name]: 1000n }
    let spent = 0n
    for (let index = 0; ; index += 1) {
      const size = books.hold(`r${index}`, { ...day(0), caps, askedTokens: 200 })
      if (!('event' in size)) {
        const resumesAt = { day: dayMs, month: 40 * dayMs, ever: null }[unit]
        assert.deepEqual(size, { kind: 'cap', cap: name, resumesAt })
        break
      }
      if (index % 2 === 0) spent += books.settle(`r${index}`, usageOf(0, 150), caps)?.charge ?? 0n
      const owner = name.startsWith('key') ? books.key() : books.account()
      assert.ok(spent + owner.held <= 1000n)
    }
    assert.ok(spent + books.account().held > 1000n - 16n)
    assert.equal('event' in books.hold('next day', { ...day(1), caps }), unit === 'day')
  })
}

test('of several limits that refuse, the one is told that lasts longest', () => {
  const books = new TestLedger()
  books.credit(20n)
  books.hold('r', { askedTokens: 16 })
  books.settle('r', usageOf(0, 16))
  const all: Partial<Caps> = { accountDay: 0n, keyDay: 0n, accountMonth: 0n, keyMonth: 0n, keyTotal: 0n }
  assert.deepEqual(books.hold('a', { caps: all }), { kind: 'balance' })
  books.credit(1000n)
  assert.partialDeepStrictEqual(books.hold('b', { caps: all }), { cap: 'keyTotal', resumesAt: null })
  assert.partialDeepStrictEqual(books.hold('c', { caps: { ...all, keyTotal: null } }), {
    cap: 'accountMonth',
  })
  assert.partialDeepStrictEqual(books.hold('d', { caps: { accountDay: 0n } }), { cap: 'accountDay' })
})

test('a stream that runs past midnight is extended and billed within the cap of the day it began on', () => {
  const books = new TestLedger()
  books.credit(100_000n)
  const caps = { accountDay: 1000n }
  books.hold('old', { ...day(0), caps })
  books.hold('spent', { ...day(0), caps, askedTokens: 700 })
  books.settle('spent', usageOf(0, 700), caps)
  books.hold('new', { ...day(1), caps })
  while (books.extend('old', 100_000, caps) !== null) assertConserved(books.state)
  const held = books.state.holds.get('old')?.amount ?? 0n
  assert.ok(held <= 300n && held > 300n - 16n, `${held}`)
  assert.deepEqual(books.settle('old', usageOf(0, 2000), caps), { charge: 300n, overrun: 1700n })
  assert.equal(books.account().daySpent, 0n, 'the new day has spent nothing')
  assert.deepEqual(books.account().past, [], 'the day that is over is forgotten with its last hold')
})

test('after a start nobody knows what was left of a day that is over: nothing is added to its holds', () => {
  const books = new TestLedger()
  books.credit(100_000n)
  const caps = { accountDay: 10_000n }
  books.hold('old', { ...day(0), caps, askedTokens: 100, manner: 'whole' })
  books.hold('new', { ...day(1), caps })
  books.account().past = []
  assert.equal(books.extend('old', 100, caps), null)
  assert.deepEqual(books.settle('old', usageOf(0, 150), caps), { charge: 100n, overrun: 50n })
})

test('a change of zone counts from the end of the open periods', () => {
  const books = new TestLedger()
  books.credit(100_000n)
  const caps = { accountDay: 100n }
  const noon = Date.parse('2026-11-20T04:00:00Z')
  const shanghai = (at: number) => ({ at, ...periods('Asia/Shanghai', at), caps, askedTokens: 100 })
  const newYork = (at: number) => ({ at, ...periods('America/New_York', at), caps, askedTokens: 100 })
  books.hold('a', { ...shanghai(noon), manner: 'whole' })
  books.settle('a', usageOf(0, 100), caps)
  const end = Date.parse('2026-11-20T16:00:00Z')
  assert.deepEqual(books.hold('b', newYork(end - 1)), { kind: 'cap', cap: 'accountDay', resumesAt: end })
  assert.ok('event' in books.hold('b', { ...newYork(end), manner: 'whole' }))
  books.settle('b', usageOf(0, 100), caps)
  const next = Date.parse('2026-11-21T05:00:00Z')
  assert.deepEqual(books.hold('c', newYork(end + 1)), { kind: 'cap', cap: 'accountDay', resumesAt: next })
})

test('a clock that was years ahead and was set right does not leave the caps shut for years', () => {
  const books = new TestLedger()
  books.credit(100_000n)
  const caps = { accountDay: 100n }
  books.hold('future', { ...day(3650), monthEnd: 3660 * dayMs, caps, askedTokens: 100, manner: 'whole' })
  books.settle('future', usageOf(0, 100), caps)
  assert.equal(ownerAt(books.account(), day(0).at).daySpent, 0n)
  assert.ok('event' in books.hold('now', { ...day(0), caps, askedTokens: 100, manner: 'whole' }))
  assert.partialDeepStrictEqual(books.hold('again', { ...day(0), caps }), {
    cap: 'accountDay',
    resumesAt: dayMs,
  })
})

function periods(zone: string, at: number): { dayEnd: number; monthEnd: number } {
  return { dayEnd: dayEndOf(zone, at), monthEnd: monthEndOf(zone, at) }
}

const zones = [
  'Asia/Shanghai',
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'America/Havana',
  'Asia/Beirut',
  'Pacific/Kiritimati',
  'UTC',
]

/** The same rule in other words: what each period has taken, by the name of the day it began on in its zone. */
class Reference {
  readonly taken = new Map<string, bigint>()
  #zone = ''
  #name = ''
  #end = 0

  /** The bucket in which a hold at this time counts. */
  bucketAt(zone: string, at: number): string {
    if (at >= this.#end) {
      this.#zone = zone
      this.#name = `${zone} ${dateOf(zone, at)} ${this.#end}`
      // Every midnight and every change of clocks in these zones falls on a quarter of an hour.
      let end = at - (at % 900_000)
      while (dateOf(this.#zone, end) === dateOf(zone, at)) end += 900_000
      this.#end = end
    }
    return this.#name
  }
}

test('M2: over 1,000 random schedules with clock changes and changes of zone, each day takes its cap and no nano more', () => {
  const steps = fc.array(
    fc.record({
      passMs: fc.oneof(fc.nat(hourMs), fc.nat(5 * hourMs), fc.constant(13 * hourMs)),
      tokens: fc.integer({ min: 16, max: 400 }),
      what: fc.constantFrom('request', 'request', 'request', 'begin', 'extend', 'end', 'zone'),
      pick: fc.nat(100),
    }),
    { minLength: 10, maxLength: 40, size: 'max' },
  )
  const starts = fc
    .constantFrom('2026-03-27', '2026-10-23', '2026-10-31', '2026-12-30', '2026-04-03')
    .map(Date.parse)
  fc.assert(
    fc.property(steps, starts, fc.constantFrom(...zones), (schedule, start, firstZone) => {
      const books = new TestLedger()
      books.credit(10n ** 9n)
      const cap = 1000n
      const caps: Caps = { ...noCaps, accountDay: cap }
      const reference = new Reference()
      const open: { id: string; bucket: string }[] = []
      let zone = firstZone
      let at = start
      const take = (bucket: string, amount: bigint): void => {
        reference.taken.set(bucket, (reference.taken.get(bucket) ?? 0n) + amount)
      }
      const settle = (id: string, bucket: string, tokens: number): void => {
        const held = books.state.holds.get(id)?.amount ?? 0n
        const settled = ledger.settle(books.state, {
          id,
          at,
          usage: usageOf(0, tokens),
          cause: 'provider',
          caps,
        })
        const most = held + cap - (reference.taken.get(bucket) ?? 0n)
        const charge = BigInt(tokens) < most ? BigInt(tokens) : most
        assert.equal(settled?.charge, charge, 'charged up to what the day of its beginning leaves')
        take(bucket, charge - held)
      }
      for (const [index, { passMs, tokens, what, pick }] of schedule.entries()) {
        at += passMs
        const id = `r${index}`
        const one = open[pick % Math.max(1, open.length)]
        if (what === 'zone') zone = zones[pick % zones.length] ?? zone
        else if (what === 'extend' && one) {
          const before = books.state.holds.get(one.id)?.amount ?? 0n
          ledger.extend(books.state, { id: one.id, at, remaining: tokens, caps })
          take(one.bucket, (books.state.holds.get(one.id)?.amount ?? 0n) - before)
        } else if (what === 'end' && one) {
          settle(one.id, one.bucket, tokens)
          open.splice(open.indexOf(one), 1)
        } else if (what === 'request' || what === 'begin') {
          const bucket = reference.bucketAt(zone, at)
          const room = cap - (reference.taken.get(bucket) ?? 0n)
          const answer = ledger.hold(books.state, {
            ...stream,
            price: nanoPrice,
            manner: 'whole',
            askedTokens: tokens,
            id,
            at,
            account: 'one',
            key: 'key',
            model: 'm',
            caps,
            ...periods(zone, at),
          })
          assert.equal('event' in answer, room >= 16n, 'admitted as long as the day leaves 16 tokens')
          if (!('event' in answer)) continue
          take(bucket, books.state.holds.get(id)?.amount ?? 0n)
          if (what === 'begin') open.push({ id, bucket })
          else settle(id, bucket, tokens)
        }
        for (const [name, taken] of reference.taken) assert.ok(taken <= cap, `${name} took ${taken}`)
        assertConserved(books.state)
      }
    }),
    { numRuns: 1000 },
  )
})
