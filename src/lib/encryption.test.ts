import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  readKeyFile,
  createKeyFile,
  generateDataKey,
  SealError,
  createSealer,
  unwrapDataKey,
  wrapDataKey,
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

  test('wrapped data key – opens only with its secret', () => {
    const dataKey = generateDataKey()
    const wrapped = wrapDataKey(dataKey, 'a passphrase')
    assert.deepEqual(Buffer.from(unwrapDataKey(wrapped, 'a passphrase')), Buffer.from(dataKey))
    assert.throws(() => unwrapDataKey(wrapped, 'another passphrase'), SealError)
  })

  test('key file – is readable only by its owner and never replaced', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
    t.after(() => rmSync(dir, { recursive: true }))
    assert.equal(readKeyFile(dir), undefined)
    const secret = createKeyFile(dir)
    assert.equal(readKeyFile(dir), secret)
    assert.equal(statSync(join(dir, 'sealing.key')).mode & 0o777, 0o600)
    assert.throws(() => createKeyFile(dir))
    assert.deepEqual(readdirSync(dir), ['sealing.key'])
  })

  test('key file – a truncated one is rejected, and an unfinished one is created again', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
    t.after(() => rmSync(dir, { recursive: true }))
    writeFileSync(join(dir, 'sealing.key.new'), 'half a se')
    assert.equal(readKeyFile(dir), undefined)
    assert.equal(createKeyFile(dir), readKeyFile(dir))
    writeFileSync(join(dir, 'sealing.key'), '')
    assert.throws(() => readKeyFile(dir), SealError)
  })
})
