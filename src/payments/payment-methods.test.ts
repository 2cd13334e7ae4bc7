import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readConfig } from '../config.ts'
import { createPaymentMethods } from './payment-methods.ts'
import { ProviderHttp } from './provider-http.ts'

async function namesWith(settings: Readonly<Record<string, string>>): Promise<string[]> {
  await using http = new ProviderHttp([])
  const config = readConfig({ ...settings })
  return [...(await createPaymentMethods({ config, currency: 'CNY', http, now: Date.now })).keys()]
}

const bank = { BANK_TRANSFER: 'Acme Ltd', BANK_ACCOUNT: '1234' }

describe('Settings of payments', () => {
  test('one setting of a method alone – refuses the start, naming it and those that are missing', async () => {
    assert.deepEqual(await namesWith({}), [])
    for (const [name, value, missing] of [
      ['STRIPE_BASE', 'https://proxy.example', 'STRIPE_SECRET_KEY'],
      ['STRIPE_LIVE', '1', 'STRIPE_WEBHOOK_SECRET'],
      ['STRIPE_CURRENCY', 'USD', 'STRIPE_SECRET_KEY'],
      ['ALIPAY_BASE', 'https://proxy.example', 'ALIPAY_APP_ID'],
      ['ALIPAY_PRODUCTS', 'qr', 'ALIPAY_PUBLIC_KEY'],
      ['WECHAT_BASE', 'https://proxy.example', 'WECHAT_MCHID'],
      ['EPAY_TYPES', 'alipay', 'EPAY_KEY'],
      ['EPAY_TRUST_NOTICE', '1', 'EPAY_BASE'],
      ['BANK_SECOND_OPERATOR_ABOVE', '100', 'BANK_ACCOUNT'],
    ] as const)
      await assert.rejects(namesWith({ [name]: value }), {
        name: 'ConfigError',
        message: new RegExp(`Invalid ${missing}: must be set together with ${name}`),
      })
  })

  test('PAYMENT_MIN – must be at most PAYMENT_MAX', async () => {
    assert.deepEqual(await namesWith({ ...bank, PAYMENT_MIN: '9.5', PAYMENT_MAX: '10' }), ['bank'])
    const contradiction = { name: 'ConfigError', message: /PAYMENT_MIN.*PAYMENT_MAX/ }
    await assert.rejects(namesWith({ ...bank, PAYMENT_MIN: '10', PAYMENT_MAX: '9.5' }), contradiction)
    await assert.rejects(namesWith({ PAYMENT_MIN: '60000' }), contradiction)
  })

  test('PAYMENT_FEES – has one fee of each method', () => {
    for (const fees of ['bank:1%:5', 'bank:1%,bank:2%'])
      assert.throws(() => readConfig({ PAYMENT_FEES: fees }), {
        name: 'ConfigError',
        message: /PAYMENT_FEES/,
      })
    assert.equal(readConfig({ PAYMENT_FEES: 'bank:1%+5' }).paymentFees.get('bank')?.fixed, '5')
  })
})
