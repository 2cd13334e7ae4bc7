import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EndedClaims } from './ended-claims.ts'

describe('EndedClaims', () => {
  test('reader that has not seen the commit of an ended claim – is sent to look again', () => {
    const claims = new EndedClaims(() => 0, 0)
    claims.add('acc key', 7)
    assert.equal(claims.storedBy('acc key', 6), 7)
    assert.equal(claims.storedBy('acc key', 7), null)
    assert.equal(claims.storedBy('acc other', 0), null)
  })

  test('slow reader – never misses a claim that was forgotten', () => {
    let ms = 0
    const claims = new EndedClaims(() => ms, 0)
    claims.add('acc key', 7)
    for (let turn = 1; turn <= 3; turn += 1) {
      ms = turn * 61_000
      claims.add(`acc other-${turn}`, 7 + turn)
    }
    assert.ok((claims.storedBy('acc key', 6) ?? 0) >= 7)
    assert.equal(claims.storedBy('acc key', 9), null)
  })

  test('start of the process – sends readers to the disk for all earlier commits', () => {
    const claims = new EndedClaims(() => 0, 40)
    assert.equal(claims.storedBy('acc key', 0), 40)
    assert.equal(claims.storedBy('acc key', 40), null)
  })
})
