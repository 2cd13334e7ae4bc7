import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, readConfig, settings } from '../config.ts'

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

test('a list of networks is read as it is written, with commas or spaces', () => {
  const { upstreamAllow } = readConfig({ UPSTREAM_ALLOW: ' 127.0.0.0/8, 10.1.2.3 fd00::/8,' })
  assert.deepEqual(upstreamAllow, ['127.0.0.0/8', '10.1.2.3', 'fd00::/8'])
})

test('what is no network stops the start with the name of the setting, and says what is wrong with it', () => {
  for (const wrong of ['127.0.0.1/99', '1.2.3', '10.0.0.1/8', 'localhost', '::ffff:10.0.0.0/104', '1:2:3']) {
    for (const name of ['UPSTREAM_ALLOW', 'TRUST_PROXY']) {
      const [problem = '', ...rest] = problemsOf({ [name]: wrong })
      assert.ok(problem.startsWith(`${name} is not valid; allowed: `), problem)
      assert.ok(problem.includes(`("${wrong}" `), problem)
      assert.deepEqual(rest, [])
    }
  }
})

test('a time has its unit, but for 0, which needs none', () => {
  assert.equal(readConfig({ DRAIN_DELAY: '0' }).drainDelayMs, 0)
  assert.equal(readConfig({ DRAIN_DELAY: '250ms' }).drainDelayMs, 250)
  assert.equal(problemsOf({ DRAIN_DELAY: '5' }).length, 1)
})

test('a file that cannot be read stops the start with the name of its setting and its path, of every one that has such', () => {
  const kept = Object.values(settings).filter((setting) => 'secret' in setting)
  assert.ok(kept.length > 3)
  for (const { env } of kept) {
    const problems = problemsOf({ [`${env}_FILE`]: '/nope/secret' })
    const expected = `${env}_FILE is not valid; /nope/secret cannot be read (ENOENT)`
    assert.deepEqual(problems, [expected])
  }
})

test('what is wrong in a file is told of the file, and what its own variable says goes before it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-setting-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'key')
  writeFileSync(file, 'short\n')
  const [problem] = problemsOf({ ENCRYPTION_KEY_FILE: file })
  const told = `ENCRYPTION_KEY_FILE is not valid; allowed, for what is in ${file}: at least 16 characters`
  assert.equal(problem, told)
  const own = { ENCRYPTION_KEY: 'sixteen characters', ENCRYPTION_KEY_FILE: '/nope' }
  assert.equal(readConfig(own).encryptionKey, 'sixteen characters')
  writeFileSync(file, 'sixteen characters\n')
  assert.equal(
    readConfig({ ENCRYPTION_KEY: '', ENCRYPTION_KEY_FILE: file }).encryptionKey,
    'sixteen characters',
  )
})
