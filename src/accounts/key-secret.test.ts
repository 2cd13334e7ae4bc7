import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hashKey, isWellFormedKey, generateSecret } from './key-secret.ts'

describe('key secrets', () => {
  test('a secret – is the prefix, 32 random characters and a valid checksum', () => {
    for (let index = 0; index < 1000; index += 1) {
      const secret = generateSecret()
      assert.match(secret, /^sk-slu-[0-9A-Za-z]{38}$/)
      assert.ok(isWellFormedKey(secret))
    }
  })

  test('a mistyped, shortened or extended secret – is detected without a lookup', () => {
    const secret = generateSecret()
    for (let index = 0; index < secret.length; index += 1) {
      const other = secret.charAt(index) === 'x' ? 'y' : 'x'
      assert.ok(!isWellFormedKey(secret.slice(0, index) + other + secret.slice(index + 1)), `at ${index}`)
    }
    for (const text of [
      '',
      'sk-slu-',
      secret.slice(1),
      `${secret}0`,
      ` ${secret}`,
      secret.toLowerCase().toUpperCase(),
    ]) {
      assert.ok(!isWellFormedKey(text))
    }
  })

  test('all characters – are equally likely', () => {
    const counts = new Map<string, number>()
    const secrets = 4000
    for (let index = 0; index < secrets; index += 1) {
      for (const character of generateSecret().slice(7, 39))
        counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    const expected = (secrets * 32) / 62
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    assert.equal(counts.size, 62)
    // 61 degrees of freedom: a fair source exceeds 126 once in a million runs; bytes modulo 62 give about
    // 1,000.
    assert.ok(chiSquare < 126, `chi-square ${chiSquare}`)
  })

  test('hashKey – is SHA-256 in hex', () => {
    assert.equal(hashKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})
