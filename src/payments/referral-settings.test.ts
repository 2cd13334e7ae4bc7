import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InvalidSettingError } from '../lib/setting-types.ts'
import { referralSettings } from '../config/referrals.ts'

const { read, format } = referralSettings.referralRewardReferrer

describe('referral rewards', () => {
  test('an amount, a percentage, a percentage with a maximum – are read and written alike', () => {
    const rewards = {
      '20': { fixed: '20' },
      '0.5': { fixed: '0.5' },
      '10%': { percent: '10' },
      '2.5% max 50': { percent: '2.5', max: '50' },
    }
    for (const [text, reward] of Object.entries(rewards)) {
      assert.deepEqual(read(text), reward)
      assert.equal(format(read(text)), text)
    }
    assert.deepEqual([read(undefined), format(null)], [null, null])
  })

  test('nothing, more than everything, and other text – are rejected', () => {
    for (const text of ['0', '0.00', '0%', '10% max 0', '101%', '-1', '10 %', '20 max 5', 'x', '1e3'])
      assert.throws(() => read(text), InvalidSettingError, text)
  })
})
