import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ConfigError, readConfig, settings } from '../config.ts'
import { bytes, duration } from './setting-types.ts'

function readProblems(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

describe('settings', () => {
  test('PUBLIC_URL and PUBLIC_URLS – an invalid one is one error', () => {
    for (const name of ['PUBLIC_URL', 'PUBLIC_URLS']) {
      const problems = readProblems({ [name]: 'relay.example' })
      assert.deepEqual([problems.length, problems[0]?.startsWith(`Invalid ${name}: `)], [1, true])
    }
  })

  test('networks – are separated by commas or spaces', () => {
    const { upstreamAllow } = readConfig({ UPSTREAM_ALLOW: ' 127.0.0.0/8, 10.1.2.3 fd00::/8,' })
    assert.deepEqual(upstreamAllow, ['127.0.0.0/8', '10.1.2.3', 'fd00::/8'])
  })

  test('networks – an invalid one names the setting and the problem', () => {
    for (const wrong of [
      '127.0.0.1/99',
      '1.2.3',
      '10.0.0.1/8',
      'localhost',
      '::ffff:10.0.0.0/104',
      '1:2:3',
    ]) {
      for (const name of ['UPSTREAM_ALLOW', 'TRUST_PROXY']) {
        const [problem = '', ...rest] = readProblems({ [name]: wrong })
        assert.ok(problem.startsWith(`Invalid ${name}: must be `), problem)
        assert.ok(problem.includes(`("${wrong}" `), problem)
        assert.deepEqual(rest, [])
      }
    }
  })

  test('invalid value – is repeated in the error, except a secret', () => {
    assert.deepEqual(readProblems({ PORT: '808O' }), [
      'Invalid PORT: must be a whole number from 1 to 65535, not "808O"',
    ])
    const [long = ''] = readProblems({ TIME_ZONE: `Mars\n${'x'.repeat(1000)}` })
    assert.match(long, /, not "Mars\\nx{90,95}"$/)
    for (const { env } of Object.values(settings).filter((setting) => 'secret' in setting))
      assert.doesNotMatch(readProblems({ [env]: 'confident', NODE_ENV: 'production' }).join(), /confident/)
  })

  test('defaults – of sizes and durations are shown in the largest unit that divides them', () => {
    assert.deepEqual(
      [duration('60s', 0, 1e6).defaultText, bytes('2048KiB', 0, 1e9).defaultText],
      ['1m', '2MiB'],
    )
  })

  test('durations – need a unit, except 0', () => {
    assert.equal(readConfig({ DRAIN_DELAY: '0' }).drainDelayMs, 0)
    assert.equal(readConfig({ DRAIN_DELAY: '250ms' }).drainDelayMs, 250)
    assert.equal(readProblems({ DRAIN_DELAY: '5' }).length, 1)
  })

  test('secret files – an unreadable file names the setting and the path', () => {
    const kept = Object.values(settings).filter((setting) => 'secret' in setting)
    assert.ok(kept.length > 3)
    for (const { env } of kept) {
      const problems = readProblems({ [`${env}_FILE`]: '/nope/secret' })
      const expected = `Invalid ${env}_FILE: /nope/secret cannot be read (ENOENT)`
      assert.deepEqual(problems, [expected])
    }
  })

  test('secret files – an invalid value names the file, and the variable itself takes precedence', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-setting-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'key')
    writeFileSync(file, 'short\n')
    const [problem] = readProblems({ ENCRYPTION_KEY_FILE: file })
    const expected = `Invalid ENCRYPTION_KEY_FILE: the content of ${file} must be at least 16 characters`
    assert.equal(problem, expected)
    const environment = { ENCRYPTION_KEY: 'sixteen characters', ENCRYPTION_KEY_FILE: '/nope' }
    assert.equal(readConfig(environment).encryptionKey, 'sixteen characters')
    writeFileSync(file, 'sixteen characters\n')
    assert.equal(
      readConfig({ ENCRYPTION_KEY: '', ENCRYPTION_KEY_FILE: file }).encryptionKey,
      'sixteen characters',
    )
  })

  test('previous encryption key – is rejected without a new one', () => {
    const previous = { ENCRYPTION_KEY_PREVIOUS: 'the key until now' }
    assert.match(readProblems(previous).join(), /^Invalid ENCRYPTION_KEY_PREVIOUS: .*\(set ENCRYPTION_KEY to/)
    const both = { ...previous, ENCRYPTION_KEY: 'sixteen characters' }
    assert.equal(readConfig(both).encryptionKeyPrevious, 'the key until now')
    assert.equal(readConfig({ ENCRYPTION_KEY_PREVIOUS: '' }).encryptionKeyPrevious, null)
  })
})
