import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Caps } from './caps.ts'
import { ownerAt } from './caps.ts'
import { assertMoneyConserved, noCaps, nanoPrice, streamHold, TestLedger, usageOf } from './ledger.fixture.ts'
import { dateOf, dayEndOf, monthEndOf } from './periods.ts'
import * as ledger from './operations.ts'
import { emptyOwner } from './state.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const day = (number: number) => ({
  at: number * dayMs + 1,
  dayEnd: (number + 1) * dayMs,
  monthEnd: 40 * dayMs,
})

describe('ended periods', () => {
  const owner = { ...emptyOwner(), dayEnd: dayMs, monthEnd: 31 * dayMs, daySpent: 7n, dayHeld: 5n }
  Object.assign(owner, { dayRequests: 3, monthSpent: 9n, monthHeld: 5n })
  const dayEmpty = { ...owner, daySpent: 0n, dayHeld: 0n, dayRequests: 0 }

  test('A period counts as empty from its end on, and not before', () => {
    assert.deepEqual(ownerAt(owner, dayMs - 1), owner)
    assert.deepEqual(ownerAt(owner, dayMs), dayEmpty)
    assert.deepEqual(ownerAt(owner, 31 * dayMs), { ...dayEmpty, monthSpent: 0n, monthHeld: 0n })
  })
})

describe('spend caps', () => {
  test('a daily cap – rejects once reached, names when service resumes, and resumes then', () => {
    const books = new TestLedger()
    books.credit(10_000n)
    const caps = { accountDay: 100n }
    books.hold('a', { ...day(0), caps, requestedTokens: 90 })
    books.settle('a', usageOf(0, 90), caps)
    const denied = { kind: 'cap', cap: 'accountDay', resumesAt: dayMs }
    assert.deepEqual(books.hold('b', { ...day(0), caps, requestedTokens: 50, inputTokens: 5 }), denied)
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
    test(`cap ${name} – is exact and includes held money`, () => {
      const books = new TestLedger()
      books.credit(100_000n)
      const caps = { [name]: 1000n }
      let spent = 0n
      for (let index = 0; ; index += 1) {
        const size = books.hold(`r${index}`, { ...day(0), caps, requestedTokens: 200 })
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
      // Ends the restrictions of an overrun.
      books.credit(1n)
      assert.equal('event' in books.hold('next day', { ...day(1), caps }), unit === 'day')
    })
  }

  test('several limits that reject – the longest-lasting one is reported', () => {
    const books = new TestLedger()
    books.credit(20n)
    books.hold('r', { requestedTokens: 16 })
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

  test('a stream past midnight – is extended and billed within the cap of its first day', () => {
    const books = new TestLedger()
    books.credit(100_000n)
    const caps = { accountDay: 1000n }
    books.hold('old', { ...day(0), caps })
    books.hold('spent', { ...day(0), caps, requestedTokens: 700 })
    books.settle('spent', usageOf(0, 700), caps)
    books.hold('new', { ...day(1), caps })
    while (books.extend('old', 100_000, caps) !== null) assertMoneyConserved(books.state)
    const held = books.state.holds.get('old')?.amount ?? 0n
    assert.ok(held <= 300n && held > 300n - 16n, `${held}`)
    assert.deepEqual(books.settle('old', usageOf(0, 2000), caps), { charge: 300n, overrun: 1700n })
    assert.equal(books.account().daySpent, 0n, 'the new day has spent nothing')
    assert.deepEqual(books.account().past, [], 'the ended day is forgotten with its last hold')
  })

  test('an ended day after a restart – its holds cannot be extended', () => {
    const books = new TestLedger()
    books.credit(100_000n)
    const caps = { accountDay: 10_000n }
    books.hold('old', { ...day(0), caps, requestedTokens: 100, mode: 'non-streaming' })
    books.hold('new', { ...day(1), caps })
    books.account().past = []
    assert.equal(books.extend('old', 100, caps), null)
    assert.deepEqual(books.settle('old', usageOf(0, 150), caps), { charge: 100n, overrun: 50n })
  })

  test('a change of time zone – takes effect at the end of the open periods', () => {
    const books = new TestLedger()
    books.credit(100_000n)
    const caps = { accountDay: 100n }
    const noon = Date.parse('2026-11-20T04:00:00Z')
    const shanghai = (at: number) => ({ at, ...periods('Asia/Shanghai', at), caps, requestedTokens: 100 })
    const newYork = (at: number) => ({ at, ...periods('America/New_York', at), caps, requestedTokens: 100 })
    books.hold('a', { ...shanghai(noon), mode: 'non-streaming' })
    books.settle('a', usageOf(0, 100), caps)
    const end = Date.parse('2026-11-20T16:00:00Z')
    assert.deepEqual(books.hold('b', newYork(end - 1)), { kind: 'cap', cap: 'accountDay', resumesAt: end })
    assert.ok('event' in books.hold('b', { ...newYork(end), mode: 'non-streaming' }))
    books.settle('b', usageOf(0, 100), caps)
    const next = Date.parse('2026-11-21T05:00:00Z')
    assert.deepEqual(books.hold('c', newYork(end + 1)), { kind: 'cap', cap: 'accountDay', resumesAt: next })
  })

  test('a clock corrected by years – does not keep the caps exhausted', () => {
    const books = new TestLedger()
    books.credit(100_000n)
    const caps = { accountDay: 100n }
    books.hold('future', {
      ...day(3650),
      monthEnd: 3660 * dayMs,
      caps,
      requestedTokens: 100,
      mode: 'non-streaming',
    })
    books.settle('future', usageOf(0, 100), caps)
    assert.equal(ownerAt(books.account(), day(0).at).daySpent, 0n)
    assert.ok('event' in books.hold('now', { ...day(0), caps, requestedTokens: 100, mode: 'non-streaming' }))
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

  /** A second implementation of the rule: what each period has taken, by the local date on which it began. */
  class Reference {
    readonly taken = new Map<string, bigint>()
    #zone = ''
    #name = ''
    #end = 0

    /** The period in which a hold made at this time counts. */
    bucketAt(zone: string, at: number): string {
      if (at >= this.#end) {
        this.#zone = zone
        this.#name = `${zone} ${dateOf(zone, at)} ${this.#end}`
        // Every midnight and every clock change in these zones is at a quarter of an hour.
        let end = at - (at % 900_000)
        while (dateOf(this.#zone, end) === dateOf(zone, at)) end += 900_000
        this.#end = end
      }
      return this.#name
    }
  }

  test('M2: a daily cap – is never exceeded over 1,000 schedules with clock and zone changes', () => {
    const steps = fc.array(
      fc.record({
        passMs: fc.oneof(fc.nat(hourMs), fc.nat(5 * hourMs), fc.constant(13 * hourMs)),
        tokens: fc.integer({ min: 16, max: 400 }),
        action: fc.constantFrom('request', 'request', 'request', 'begin', 'extend', 'end', 'zone'),
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
          const maxCharge = held + cap - (reference.taken.get(bucket) ?? 0n)
          const charge = BigInt(tokens) < maxCharge ? BigInt(tokens) : maxCharge
          assert.equal(
            settled?.charge,
            charge,
            'charged up to what the day in which the hold was made leaves',
          )
          take(bucket, charge - held)
          // Otherwise its requests would run one at a time.
          if (settled && settled.overrun > 0n) books.credit(1n, `after ${id}`)
        }
        for (const [index, { passMs, tokens, action, pick }] of schedule.entries()) {
          at += passMs
          const id = `r${index}`
          const one = open[pick % Math.max(1, open.length)]
          if (action === 'zone') zone = zones[pick % zones.length] ?? zone
          else if (action === 'extend' && one) {
            const before = books.state.holds.get(one.id)?.amount ?? 0n
            ledger.extend(books.state, { id: one.id, at, remaining: tokens, searches: 0, caps })
            take(one.bucket, (books.state.holds.get(one.id)?.amount ?? 0n) - before)
          } else if (action === 'end' && one) {
            settle(one.id, one.bucket, tokens)
            open.splice(open.indexOf(one), 1)
          } else if (action === 'request' || action === 'begin') {
            const bucket = reference.bucketAt(zone, at)
            const remaining = cap - (reference.taken.get(bucket) ?? 0n)
            const result = ledger.hold(books.state, {
              ...streamHold,
              price: nanoPrice,
              mode: 'non-streaming',
              requestedTokens: tokens,
              id,
              at,
              account: 'one',
              key: 'key',
              model: 'm',
              caps,
              ...periods(zone, at),
            })
            assert.equal('event' in result, remaining >= 16n, 'admitted as long as the day leaves 16 tokens')
            if (!('event' in result)) continue
            take(bucket, books.state.holds.get(id)?.amount ?? 0n)
            if (action === 'begin') open.push({ id, bucket })
            else settle(id, bucket, tokens)
          }
          for (const [name, taken] of reference.taken) assert.ok(taken <= cap, `${name} took ${taken}`)
          assertMoneyConserved(books.state)
        }
      }),
      { numRuns: 1000 },
    )
  })
})
