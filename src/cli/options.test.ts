import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cap, credentialOf, decimal, given, limit, limitsOf, list, moment, wholeNumber } from './options.ts'
import { CommandError, UsageError } from './output.ts'

test('numbers, caps and limits are what they say, or the option is refused', () => {
  assert.equal(wholeNumber('42'), 42)
  assert.equal(decimal('-0.002'), '-0.002')
  assert.equal(cap('none'), null)
  assert.equal(cap('5'), '5')
  assert.deepEqual(['10', 'unlimited', 'default'].map(limit), [10, 'unlimited', null])
  for (const wrong of ['', '-1', '1.5', '1e3', '٣', 'x'])
    assert.throws(() => wholeNumber(wrong), /whole number/)
  for (const wrong of ['', '.5', '1.', '1,5', '1e3', '--1'])
    assert.throws(() => decimal(wrong), /decimal number/)
})

test('a list may be given with commas and several times', () => {
  assert.deepEqual(list(' a, b,,', list('c')), ['c', 'a', 'b'])
})

test('a moment is a time, a span from now, or never', () => {
  assert.equal(moment('never'), null)
  assert.equal(moment('2027-01-31T08:00:00+08:00'), '2027-01-31T00:00:00.000Z')
  assert.equal(moment('2027-01-31'), '2027-01-31T00:00:00.000Z')
  const days = (Date.parse(moment('90d') ?? '') - Date.now()) / 86_400_000
  assert.ok(Math.abs(days - 90) < 0.001)
  for (const wrong of ['soon', '90', '2027-13-01', '1/31/2027', '2027-01-31 08:00']) {
    assert.throws(() => moment(wrong), /has to be a time/)
  }
})

test('only what was given is sent, null included', () => {
  assert.deepEqual(given({ tier: undefined, caps: null, rpm: 0 }), { caps: null, rpm: 0 })
  assert.equal(given({ tier: undefined }), undefined)
  assert.deepEqual(limitsOf({ rpm: null }), { rpm: null })
  assert.equal(limitsOf({}), undefined)
})

test('a credential comes from a file or the environment, and never from the command line', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-credential-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'key')
  writeFileSync(path, 'sk-from-file\n')
  assert.equal(await credentialOf({ credentialFile: path, credential: 'sk-env' }, 'env'), 'sk-from-file')
  assert.equal(await credentialOf({ credential: 'sk-env' }, 'env'), 'sk-env')
  assert.equal(await credentialOf({ credential: false }, 'cli'), '')
  await assert.rejects(credentialOf({ credential: 'sk-argv' }, 'cli'), UsageError)
  await assert.rejects(credentialOf({}, undefined), UsageError)

  writeFileSync(path, '\n')
  await assert.rejects(credentialOf({ credentialFile: path }, undefined), /no credential in/)
  const missing = join(folder, 'none')
  await assert.rejects(credentialOf({ credentialFile: missing }, undefined), (error) => {
    return error instanceof CommandError && error.message === `${missing} cannot be read (ENOENT).`
  })
})
