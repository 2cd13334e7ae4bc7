import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dayStartsBetween, hourStartsBetween } from './time-buckets.ts'
import { last24HoursStart, spanStart } from './time-spans.ts'

const hourMs = 3_600_000
const at = (text: string): number => Date.parse(text)

describe('Time spans', () => {
  test('Last 24 hours – are 24 full hours of a chart, also on the hour and just before it', () => {
    for (const [now, start] of [
      ['2026-11-23T18:00:00.000Z', '2026-11-22T19:00:00Z'],
      ['2026-11-23T18:00:00.001Z', '2026-11-22T19:00:00Z'],
      ['2026-11-23T18:59:59.999Z', '2026-11-22T19:00:00Z'],
      ['2026-11-23T19:00:00.000Z', '2026-11-22T20:00:00Z'],
    ] as const) {
      assert.equal(last24HoursStart(at(now)), at(start), now)
      assert.equal(spanStart('24h', 'Asia/Shanghai', at(now)), at(start), now)
      const hours = hourStartsBetween(at(start), at(now) + 1)
      assert.equal(hours.length, 24, now)
      assert.equal(hours.at(-1), Math.floor(at(now) / hourMs) * hourMs, now)
    }
  })

  test('Days – begin at local midnight and include today, in the hours around it', () => {
    // Midnight in Shanghai is 16:00 UTC.
    assert.equal(spanStart('7d', 'Asia/Shanghai', at('2026-11-23T15:59:59.999Z')), at('2026-11-16T16:00:00Z'))
    assert.equal(spanStart('7d', 'Asia/Shanghai', at('2026-11-23T16:00:00Z')), at('2026-11-17T16:00:00Z'))
    assert.equal(spanStart('30d', 'Asia/Kolkata', at('2026-11-23T18:29:59Z')), at('2026-10-24T18:30:00Z'))
    assert.equal(spanStart('30d', 'Asia/Kolkata', at('2026-11-23T18:30:00Z')), at('2026-10-25T18:30:00Z'))
  })

  test('Days – are as many as the span says, across changes of the clocks', () => {
    for (const timezone of ['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Apia']) {
      for (let now = at('2026-01-01T00:00:00Z'); now < at('2027-01-01T00:00:00Z'); now += 35.5 * hourMs) {
        for (const [span, days] of [
          ['7d', 7],
          ['30d', 30],
          ['90d', 90],
        ] as const) {
          const starts = dayStartsBetween(timezone, spanStart(span, timezone, now), now + 1)
          assert.equal(starts.length, days, `${span} in ${timezone} at ${new Date(now).toISOString()}`)
        }
      }
    }
  })
})
