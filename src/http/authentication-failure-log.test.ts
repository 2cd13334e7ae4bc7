import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AuthenticationFailureLog } from './authentication-failure-log.ts'

describe('authentication failure log', () => {
  test('one network – has one line a minute', () => {
    const lines: object[] = []
    const failures = new AuthenticationFailureLog((failure) => lines.push(failure))
    for (const nowMs of [0, 1, 59_999, 60_000, 60_001]) failures.record('192.0.2.1', undefined, nowMs)
    assert.deepEqual(lines, [{ network: '192.0.2.1' }, { network: '192.0.2.1' }])
  })

  test('one network – has a line of its own for each method of signing in', () => {
    const lines: object[] = []
    const failures = new AuthenticationFailureLog((failure) => lines.push(failure))
    for (const method of ['password', 'totp', 'password']) failures.record('2001:db8::1', method, 0)
    const network = '2001:db8:0:0::/64'
    assert.deepEqual(lines, [
      { network, method: 'password' },
      { network, method: 'totp' },
    ])
  })

  test('many networks – have 20 lines a minute together', () => {
    const lines: string[] = []
    const failures = new AuthenticationFailureLog(({ network }) => lines.push(network))
    for (let network = 0; network < 1000; network += 1)
      failures.record(`2001:db8:0:${network}::1`, undefined, 0)
    assert.equal(lines.length, 20)
    assert.equal(new Set(lines).size, 20)
  })
})
