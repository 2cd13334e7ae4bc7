import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../config.ts'

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
