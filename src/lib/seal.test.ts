import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  keyFileSecret,
  makeKeyFile,
  newDataKey,
  SealError,
  sealerOf,
  unwrapDataKey,
  wrapDataKey,
} from './encryption.ts'

test('a sealed text opens for its own row only', () => {
  const sealer = sealerOf(newDataKey())
  const sealed = sealer.seal('sk-very-secret-凭据', 'ups_1')
  assert.equal(sealer.unseal(sealed, 'ups_1'), 'sk-very-secret-凭据')
  assert.throws(() => sealer.unseal(sealed, 'ups_2'), SealError)
  assert.ok(!sealed.includes('secret'))
  assert.notEqual(sealer.seal('sk-very-secret', 'ups_1'), sealed)
})

test('a changed, cut or foreign sealed text does not open', () => {
  const sealer = sealerOf(newDataKey())
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
  assert.throws(() => sealerOf(newDataKey()).unseal(sealed, 'ups_1'), SealError)
})

test('a wrapped data key opens with its secret only', () => {
  const dataKey = newDataKey()
  const wrapped = wrapDataKey(dataKey, 'a passphrase')
  assert.deepEqual(Buffer.from(unwrapDataKey(wrapped, 'a passphrase')), Buffer.from(dataKey))
  assert.throws(() => unwrapDataKey(wrapped, 'another passphrase'), SealError)
})

test('the key file is readable by its owner only and never replaced', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
  t.after(() => rmSync(dir, { recursive: true }))
  assert.equal(keyFileSecret(dir), undefined)
  const secret = makeKeyFile(dir)
  assert.equal(keyFileSecret(dir), secret)
  assert.equal(statSync(join(dir, 'sealing.key')).mode & 0o777, 0o600)
  assert.throws(() => makeKeyFile(dir))
  assert.deepEqual(readdirSync(dir), ['sealing.key'])
})

test('a key file that was cut short is not taken for a key, and one that was never finished is made anew', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'sealing.key.new'), 'half a se')
  assert.equal(keyFileSecret(dir), undefined)
  assert.equal(makeKeyFile(dir), keyFileSecret(dir))
  writeFileSync(join(dir, 'sealing.key'), '')
  assert.throws(() => keyFileSecret(dir), SealError)
})
