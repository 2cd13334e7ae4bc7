import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { methodCases } from '../../test/support/payments/method-contract.ts'
import { createMethod, openMethod } from '../../test/support/payments/method-fixture.ts'
import { version1, version2 } from '../../test/support/payments/open-epay.ts'
import { createEpay } from './epay.ts'

describe('epay version 1, contract', () => {
  for (const [title, run] of methodCases(version1)) test(`epay V1 – ${title}`, run)
})

describe('epay version 2, contract', () => {
  for (const [title, run] of methodCases(version2)) test(`epay V2 – ${title}`, run)
})

describe('epay settings', () => {
  test('settings – are refused, naming the one that is wrong', async () => {
    await using open = await openMethod(version2)
    const { settings } = open.provider
    const wrong: [Record<string, string>, RegExp][] = [
      [{ EPAY_KEY: 'key' }, /EPAY_KEY/],
      [{ EPAY_PUBLIC_KEY: 'bm90IGEga2V5' }, /EPAY_PUBLIC_KEY/],
      [{ EPAY_BASE: 'http://pay.example/' }, /EPAY_BASE/],
      [{ EPAY_BASE: 'https://pay.example/?x=1' }, /EPAY_BASE/],
      [{ EPAY_PID: '1001&x' }, /EPAY_PID/],
    ]
    for (const [change, name] of wrong)
      assert.throws(() => createMethod(createEpay, { ...settings, ...change }), name)
  })

  test('merchant – is the site with its path and the id, whatever slashes the setting has', () => {
    for (const base of ['https://pay.example/a', 'https://pay.example/a//']) {
      const { method } = createMethod(createEpay, { EPAY_BASE: base, EPAY_PID: '1001', EPAY_KEY: 'key' })
      assert.equal(method?.merchant, '1001@pay.example/a')
    }
  })
})
