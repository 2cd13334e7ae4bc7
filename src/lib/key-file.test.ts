import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { SealError } from './encryption.ts'
import { createKeyFile, nextKeyFileName, readKeyFile, replaceKeyFile, retireKeyFiles } from './key-file.ts'

function createDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'))
  t.after(() => rmSync(dir, { recursive: true }))
  return dir
}

describe('key file', () => {
  test('key file – is readable only by its owner and never replaced', (t) => {
    const dir = createDir(t)
    assert.equal(readKeyFile(dir), undefined)
    const secret = createKeyFile(dir)
    assert.equal(readKeyFile(dir), secret)
    assert.equal(statSync(join(dir, 'sealing.key')).mode & 0o777, 0o600)
    assert.throws(() => createKeyFile(dir))
    assert.deepEqual(readdirSync(dir), ['sealing.key'])
  })

  test('key file – a truncated one is rejected, and an unfinished one is created again', (t) => {
    const dir = createDir(t)
    writeFileSync(join(dir, 'sealing.key.new'), 'half a se')
    assert.equal(readKeyFile(dir), undefined)
    assert.equal(createKeyFile(dir), readKeyFile(dir))
    writeFileSync(join(dir, 'sealing.key'), '')
    assert.throws(() => readKeyFile(dir), SealError)
  })

  test('next key file – takes the place of the current one, which is kept', (t) => {
    const dir = createDir(t)
    const current = createKeyFile(dir)
    const next = createKeyFile(dir, nextKeyFileName)
    assert.equal(readKeyFile(dir), current)
    assert.equal(readKeyFile(dir, nextKeyFileName), next)
    replaceKeyFile(dir, new Date('2026-11-21T08:00:00Z'))
    assert.equal(readKeyFile(dir), next)
    assert.equal(readKeyFile(dir, nextKeyFileName), undefined)
    replaceKeyFile(dir, new Date('2026-11-22T08:00:00Z'))
    const kept = 'sealing.key.until-2026-11-21T08-00-00.000Z'
    assert.deepEqual(readdirSync(dir).toSorted(), ['sealing.key', kept])
    createKeyFile(dir, nextKeyFileName)
    retireKeyFiles(dir, new Date('2026-11-23T08:00:00Z'))
    assert.deepEqual(readdirSync(dir).toSorted(), [kept, 'sealing.key.until-2026-11-23T08-00-00.000Z'])
  })
})
