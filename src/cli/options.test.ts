import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  parseCap,
  readCredential,
  parseDecimal,
  bodyFrom,
  parseLimit,
  limitFields,
  parseList,
  parseTime,
  parseInteger,
} from './options.ts'
import { CommandError, UsageError } from './output.ts'

describe('command-line options', () => {
  test('numbers, caps and limits – parsed or rejected', () => {
    assert.equal(parseInteger('42'), 42)
    assert.equal(parseDecimal('-0.002'), '-0.002')
    assert.equal(parseCap('none'), null)
    assert.equal(parseCap('5'), '5')
    assert.deepEqual(['10', 'unlimited', 'default'].map(parseLimit), [10, 'unlimited', null])
    for (const wrong of ['', '-1', '1.5', '1e3', '٣', 'x'])
      assert.throws(() => parseInteger(wrong), /whole number/)
    for (const wrong of ['', '.5', '1.', '1,5', '1e3', '--1'])
      assert.throws(() => parseDecimal(wrong), /decimal number/)
  })

  test('list – commas and repeated options', () => {
    assert.deepEqual(parseList(' a, b,,', parseList('c')), ['c', 'a', 'b'])
  })

  test('time – timestamp, duration from now, or never', () => {
    assert.equal(parseTime('never'), null)
    assert.equal(parseTime('2027-01-31T08:00:00+08:00'), '2027-01-31T00:00:00.000Z')
    assert.equal(parseTime('2027-01-31'), '2027-01-31T00:00:00.000Z')
    const days = (Date.parse(parseTime('90d') ?? '') - Date.now()) / 86_400_000
    assert.ok(Math.abs(days - 90) < 0.001)
    for (const wrong of ['soon', '90', '2027-13-01', '1/31/2027', '2027-01-31 08:00']) {
      assert.throws(() => parseTime(wrong), /must be a time/)
    }
  })

  test('bodyFrom – names fields by their paths, drops undefined, and sends "none" as null', () => {
    const fields = { tier: 'tier', dailyCap: 'caps.daily', monthlyCap: 'caps.monthly', ...limitFields }
    const options = { json: true, tier: undefined, dailyCap: '', monthlyCap: '5', rpm: 0 }
    assert.deepEqual(bodyFrom(options, fields), { caps: { daily: null, monthly: '5' }, limits: { rpm: 0 } })
    assert.equal(bodyFrom({ json: true, tier: undefined }, fields), undefined)
  })

  test('credential – from a file or the environment, never from the command line', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-credential-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'key')
    writeFileSync(path, 'sk-from-file\n')
    assert.equal(await readCredential({ credentialFile: path, credential: 'sk-env' }, 'env'), 'sk-from-file')
    assert.equal(await readCredential({ credential: 'sk-env' }, 'env'), 'sk-env')
    assert.equal(await readCredential({ credential: false }, 'cli'), '')
    await assert.rejects(readCredential({ credential: 'sk-argv' }, 'cli'), UsageError)
    await assert.rejects(readCredential({}, undefined), UsageError)

    writeFileSync(path, '\n')
    await assert.rejects(readCredential({ credentialFile: path }, undefined), /No credential in/)
    const missing = join(folder, 'none')
    await assert.rejects(readCredential({ credentialFile: missing }, undefined), (error) => {
      return error instanceof CommandError && error.message === `Cannot read ${missing} (ENOENT).`
    })
  })
})
