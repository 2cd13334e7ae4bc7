import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { dateOf, dayEndOf, longestDayMs, longestMonthMs, monthEndOf, startOfDate } from './periods.ts'

const hourMs = 3_600_000
const at = (text: string): number => Date.parse(text)

describe('dayEndOf and monthEndOf', () => {
  test('a day – ends at local midnight', () => {
    assert.equal(dayEndOf('Asia/Shanghai', at('2026-11-20T15:59:59.999Z')), at('2026-11-20T16:00:00Z'))
    assert.equal(dayEndOf('Asia/Shanghai', at('2026-11-20T16:00:00Z')), at('2026-11-21T16:00:00Z'))
    assert.equal(dayEndOf('UTC', at('2026-12-31T23:59:59.999Z')), at('2027-01-01T00:00:00Z'))
    assert.equal(dayEndOf('Asia/Kathmandu', at('2026-11-20T00:00:00Z')), at('2026-11-20T18:15:00Z'))
  })

  test('a day with a clock change – has 23 or 25 hours', () => {
    const spring = dayEndOf('Europe/Berlin', at('2026-03-28T12:00:00Z'))
    assert.equal(dayEndOf('Europe/Berlin', spring) - spring, 23 * hourMs)
    const autumn = dayEndOf('Europe/Berlin', at('2026-10-24T12:00:00Z'))
    assert.equal(dayEndOf('Europe/Berlin', autumn) - autumn, 25 * hourMs)
    const halfHour = dayEndOf('Australia/Lord_Howe', at('2026-04-04T00:00:00Z'))
    assert.equal(dayEndOf('Australia/Lord_Howe', halfHour) - halfHour, 24.5 * hourMs)
  })

  test('a skipped or repeated midnight – the day ends where the date changes', () => {
    // In Beirut the clock goes from 00:00 to 01:00 on 29 March 2026: the 28th ends there.
    const end = dayEndOf('Asia/Beirut', at('2026-03-28T12:00:00Z'))
    assert.equal(end, at('2026-03-28T22:00:00Z'))
    assert.equal(dayEndOf('Asia/Beirut', end), at('2026-03-29T21:00:00Z'))
    // In Havana the clock goes from 01:00 back to 00:00 on 1 November 2026: that day has 25 hours.
    const havana = dayEndOf('America/Havana', at('2026-10-31T12:00:00Z'))
    assert.equal(dayEndOf('America/Havana', havana) - havana, 25 * hourMs)
  })

  test('a date – begins at local midnight, wherever it is', () => {
    assert.equal(startOfDate('Asia/Shanghai', '2026-11-28'), at('2026-11-27T16:00:00Z'))
    assert.equal(startOfDate('America/New_York', '2026-11-28'), at('2026-11-28T05:00:00Z'))
    assert.equal(startOfDate('Pacific/Kiritimati', '2026-11-28'), at('2026-11-27T10:00:00Z'))
    assert.equal(startOfDate('Asia/Beirut', '2026-03-29'), at('2026-03-28T22:00:00Z'))
  })

  test('a month – ends with its last local day, also in leap years and at the turn of the year', () => {
    assert.equal(monthEndOf('Asia/Shanghai', at('2026-11-20T00:00:00Z')), at('2026-11-30T16:00:00Z'))
    assert.equal(monthEndOf('UTC', at('2028-02-01T00:00:00Z')), at('2028-03-01T00:00:00Z'))
    assert.equal(monthEndOf('America/New_York', at('2027-01-01T04:59:59Z')), at('2027-01-01T05:00:00Z'))
    assert.equal(monthEndOf('Europe/Berlin', at('2026-03-10T00:00:00Z')), at('2026-03-31T22:00:00Z'))
  })

  test('any zone and instant – the end is the first instant of another date, within the bounds', () => {
    const zones = Intl.supportedValuesOf('timeZone')
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: at('2024-01-01'), max: at('2034-01-01') }),
        (zone, instant) => {
          const day = dayEndOf(zone, instant)
          assert.ok(day > instant && day - instant < longestDayMs)
          assert.equal(dateOf(zone, day - 1), dateOf(zone, instant))
          assert.notEqual(dateOf(zone, day), dateOf(zone, instant))
          const month = monthEndOf(zone, instant)
          assert.ok(month >= day && month - instant < longestMonthMs)
          assert.equal(dateOf(zone, month - 1).slice(0, 7), dateOf(zone, instant).slice(0, 7))
          assert.notEqual(dateOf(zone, month).slice(0, 7), dateOf(zone, instant).slice(0, 7))
        },
      ),
      { numRuns: 600 },
    )
  })
})
