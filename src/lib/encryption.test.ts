import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  appendDataKey,
  createSealer,
  dataKeyIds,
  generateDataKey,
  newestDataKeys,
  SealError,
  sealedPrefixChars,
  unwrapDataKeys,
  wrapDataKeys,
} from './encryption.ts'

describe('encryption', () => {
  test('sealed text – opens only for its own row', () => {
    const sealer = createSealer(generateDataKey())
    const sealed = sealer.seal('sk-very-secret-凭据', 'ups_1')
    assert.equal(sealer.unseal(sealed, 'ups_1'), 'sk-very-secret-凭据')
    assert.throws(() => sealer.unseal(sealed, 'ups_2'), SealError)
    assert.ok(!sealed.includes('secret'))
    assert.notEqual(sealer.seal('sk-very-secret', 'ups_1'), sealed)
  })

  test('sealed text – does not open if it is modified, truncated or from another key', () => {
    const sealer = createSealer(generateDataKey())
    const sealed = sealer.seal('secret', 'ups_1')
    const flipped = sealed.slice(0, 30) + (sealed.charAt(30) === 'A' ? 'B' : 'A') + sealed.slice(31)
    for (const text of [
      '',
      'secret',
      sealed.slice(0, 20),
      `${sealed.slice(0, 10)}${sealed.slice(12)}`,
      flipped,
    ]) {
      assert.throws(() => sealer.unseal(text, 'ups_1'), SealError)
    }
    assert.throws(() => createSealer(generateDataKey()).unseal(sealed, 'ups_1'), SealError)
  })

  test('wrapped data keys – open only with their secret', async () => {
    const one = generateDataKey()
    for (const keys of [one, appendDataKey(one)]) {
      const wrapped = await wrapDataKeys(keys, 'a passphrase')
      assert.deepEqual(Buffer.from(await unwrapDataKeys(wrapped, 'a passphrase')), Buffer.from(keys))
      await assert.rejects(unwrapDataKeys(wrapped, 'another passphrase'), SealError)
    }
  })

  test('second data key – opens before it seals, and names itself in what it seals', () => {
    const first = generateDataKey()
    const keys = appendDataKey(first)
    const bytes = Buffer.from('a response')
    const old = createSealer(first)
    const sealer = createSealer(keys, true)
    assert.equal(sealer.prefix, '')
    assert.equal(old.unseal(sealer.seal('secret', 'ups_1'), 'ups_1'), 'secret')
    assert.deepEqual(old.unsealBytes(sealer.sealBytes(bytes, 'req_1'), 'req_1'), bytes)
    const rotated = createSealer(keys)
    const [sealed, sealedBytes] = [rotated.seal('secret', 'ups_1'), rotated.sealBytes(bytes, 'req_1')]
    assert.match(sealed, /^s2\.[\w-]{8}\../)
    assert.ok(sealed.startsWith(rotated.prefix))
    assert.equal(sealedPrefixChars, rotated.prefix.length)
    for (const each of [sealer, rotated]) {
      assert.equal(each.unseal(sealed, 'ups_1'), 'secret')
      assert.deepEqual(each.unsealBytes(sealedBytes, 'req_1'), bytes)
      assert.equal(each.unseal(old.seal('before', 'ups_1'), 'ups_1'), 'before')
      assert.deepEqual(each.unsealBytes(old.sealBytes(bytes, 'req_1'), 'req_1'), bytes)
    }
    assert.throws(() => old.unseal(sealed, 'ups_1'), SealError)
    assert.throws(() => old.unsealBytes(sealedBytes, 'req_1'), SealError)
    assert.throws(() => rotated.unseal(sealed, 'ups_2'), SealError)
    sealer.replaceKeys(rotated.keys)
    assert.equal(sealer.prefix, rotated.prefix)
  })

  test('newest data keys – are the last two, with which later values still open', () => {
    const two = appendDataKey(generateDataKey())
    const three = appendDataKey(two)
    const sealed = createSealer(two).seal('secret', 'ups_1')
    const kept = newestDataKeys(three)
    const idsOf = (bytes: Uint8Array): string[] => dataKeyIds({ bytes, isNewestReadOnly: false }).all
    assert.deepEqual(idsOf(kept), idsOf(three).slice(1))
    assert.equal(createSealer(kept).unseal(sealed, 'ups_1'), 'secret')
    assert.throws(() => createSealer(kept.slice(-32)).unseal(sealed, 'ups_1'), SealError)
  })
})
