// @backend sqlite – commands without a database
// @suite all – starts a relay for each test
/** Settings that are valid and probably a mistake: at the start and in `sluice doctor`. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { CommandLine } from '../../support/server/command-line.ts'
import { startRelay } from '../../support/server/relay-process.ts'

const mistakes = { TRUSTED_PROXY: '10.0.0.0/8', ADMIN_API_KEY: 'too short' }

describe('Settings of payment methods', () => {
  test('Half configured methods – fail the check of doctor as they refuse the start', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const missing = /Invalid STRIPE_WEBHOOK_SECRET: must be set together with STRIPE_SECRET_KEY/
    const decimals = /Invalid PAYMENT_MIN: has more decimals than JPY, the currency of bank/
    const bank = { BANK_TRANSFER: 'Bank', BANK_ACCOUNT: '1', PAYMENT_MIN: '0.5' }
    for (const [settings, problem] of [
      [{ STRIPE_SECRET_KEY: 'sk_test_1' }, missing],
      [{ ...bank, CURRENCY: 'JPY' }, decimals],
      [bank, null],
    ] as const) {
      const { code, output } = await new CommandLine(join(folder, 'new'), settings).run(['doctor'])
      if (problem === null) assert.match(output, /^ok +configuration +all settings are valid$/m)
      else {
        assert.equal(code, 1)
        assert.match(output, problem)
        assert.doesNotMatch(output, /all settings are valid|sk_test_1/)
      }
    }
    const env = { STRIPE_SECRET_KEY: 'sk_test_1', DATABASE_URL: '' }
    await assert.rejects(startRelay({ dataDir: join(folder, 'new'), env }), missing)
  })
})

describe('Questionable settings', () => {
  test('Misspelled name and short ADMIN_API_KEY – are warnings of the start and of doctor', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    // No folder: the start ends after it has read its settings.
    await writeFile(join(folder, 'data'), '')
    const started = await new CommandLine(join(folder, 'data'), mistakes).run(['serve'])
    assert.equal(started.code, 1)
    const doctor = await new CommandLine(folder, mistakes).run(['doctor'])
    for (const { output } of [started, doctor]) {
      assert.match(output, /TRUSTED_PROXY is not a setting and has no effect/)
      assert.match(output, /Did you mean TRUST_PROXY\?/)
      assert.match(output, /ADMIN_API_KEY has fewer than 16 characters/)
      assert.doesNotMatch(output, /too short|10\.0\.0\.0/)
    }
  })

  test('Short ADMIN_API_KEY in production – ends the start', async () => {
    const error = await new CommandLine('/nowhere', { ...mistakes, NODE_ENV: 'production' }).expectFailure([
      'serve',
    ])
    assert.match(error, /^sluice: Invalid ADMIN_API_KEY: must be at least 16 characters/)
  })
})
