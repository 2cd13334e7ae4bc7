import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ForgedNotices } from './forged-notices.ts'

const minute = 60_000
const day = 86_400_000

/** What notices at these times cause, with a counter of their own. */
function effectsOf(notices: readonly { readonly address: string; readonly at: number }[]) {
  const forged = new ForgedNotices()
  const effects = notices.map(({ address, at }) => forged.count('stripe', address, at))
  return {
    lines: effects.filter(({ isLogged }) => isLogged).length,
    notifications: effects.filter(({ isNotified }) => isNotified).length,
  }
}

describe('forged notices', () => {
  test('one network – causes ten lines and one notification an hour, however many it sends', () => {
    const everyMinute = (days: number) =>
      Array.from({ length: days * 1440 }, (_, index) => ({
        address: `2001:db8::${index.toString(16)}`,
        at: index * minute,
      }))
    assert.deepEqual(effectsOf(everyMinute(1)), { lines: 240, notifications: 24 })
    assert.deepEqual(effectsOf(everyMinute(3)), { lines: 720, notifications: 72 })
  })

  test('one network – does not use up the lines of others', () => {
    const flood = Array.from({ length: 1000 }, () => ({ address: '192.0.2.1', at: 0 }))
    const other = { address: '198.51.100.1', at: minute }
    assert.deepEqual(effectsOf([...flood, other]), { lines: 11, notifications: 1 })
  })

  test('few notices – are logged and not notified', () => {
    const apart = Array.from({ length: 9 }, (_, index) => ({ address: '192.0.2.1', at: index * minute }))
    assert.deepEqual(effectsOf(apart), { lines: 9, notifications: 0 })
    const overDays = Array.from({ length: 20 }, (_, index) => ({ address: '192.0.2.1', at: index * day }))
    assert.deepEqual(effectsOf(overDays), { lines: 20, notifications: 0 })
  })

  test('many networks – have a hundred lines an hour and one notification together', () => {
    const addresses = Array.from(
      { length: 50_000 },
      (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    )
    const notices = addresses.map((address) => ({ address, at: 0 }))
    assert.deepEqual(effectsOf(notices), { lines: 100, notifications: 1 })
  })

  test('methods – are counted apart', () => {
    const forged = new ForgedNotices()
    for (let count = 0; count < 20; count += 1) forged.count('stripe', '192.0.2.1', 0)
    assert.deepEqual(forged.count('alipay', '192.0.2.1', 0), { isLogged: true, isNotified: false })
  })
})
