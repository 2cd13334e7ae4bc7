import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { createMethod, refundOf, testOrder } from '../../test/support/payments/method-fixture.ts'
import { isReference, normalizeReference, referenceOf } from './bank-reference.ts'
import { createBank } from './bank.ts'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.split('')
const orderIds = fc
  .array(fc.constantFrom(...alphabet), { minLength: 26, maxLength: 26 })
  .map((chars) => `S${chars.join('')}`)

const settings = {
  BANK_TRANSFER: '收款人：示例公司\n开户行：示例银行\n账号：6222 0000',
  BANK_ACCOUNT: '62220000',
}

describe('bank references', () => {
  test('reference – eight characters whose check character is right, however it is written', () => {
    fc.assert(
      fc.property(orderIds, (id) => {
        const reference = referenceOf(id)
        assert.match(reference, /^[0-9A-HJKMNP-TV-Z]{8}$/)
        assert.ok(id.endsWith(reference.slice(0, 7)))
        assert.ok(isReference(reference))
        assert.ok(isReference(` ${reference.slice(0, 4).toLowerCase()}-${reference.slice(4)}`))
        assert.equal(normalizeReference(reference.replaceAll('0', 'o').replaceAll('1', 'l')), reference)
      }),
    )
  })

  test('check character – reveals each wrong character and each swap', () => {
    const places = fc.nat({ max: 7 })
    fc.assert(
      fc.property(orderIds, places, places, fc.constantFrom(...alphabet), (id, one, other, char) => {
        const chars = Array.from(referenceOf(id))
        const wrong = chars.with(one, char)
        assert.equal(isReference(wrong.join('')), chars[one] === char)
        const swapped = chars.with(one, chars[other] ?? '').with(other, chars[one] ?? '')
        assert.equal(isReference(swapped.join('')), chars[one] === chars[other])
      }),
    )
  })
})

describe('bank', () => {
  test('settings – none is absent, one names the other', () => {
    assert.equal(createMethod(createBank, {}).method, null)
    for (const [name, value] of Object.entries(settings)) {
      const missing = Object.keys(settings).find((other) => other !== name) ?? ''
      assert.throws(() => createMethod(createBank, { [name]: value }), new RegExp(`Invalid ${missing}`))
    }
  })

  test('order – shows the payee, the amount and the reference, for 14 days', async () => {
    const { method } = createMethod(createBank, settings)
    assert.ok(method)
    const order = testOrder(method)
    assert.equal(order.expiresAt - order.createdAt, 14 * 24 * 3_600_000)
    assert.equal(order.noticeUrl, null)
    const begun = await method.begin(order)
    const reference = referenceOf(order.id)
    assert.deepEqual(begun, {
      kind: 'begun',
      reference,
      pay: {
        kind: 'bank',
        text: `${settings.BANK_TRANSFER}\n\n金额 Amount: 10.00 CNY\n附言 Reference: ${reference}`,
      },
    })
    assert.deepEqual(await method.begin(order), begun)
  })

  test('order – stays unpaid, and a refund stays sent, until an operator enters them', async () => {
    const { method } = createMethod(createBank, settings)
    assert.ok(method)
    const order = testOrder(method)
    assert.deepEqual(await method.read(order), { state: 'unpaid' })
    assert.equal(await method.close(order), 'unsupported')
    const refund = refundOf(order, 100n)
    for (const reading of [await method.refund(refund), await method.readRefund(refund)])
      assert.deepEqual(reading, { state: 'manual' })
    assert.deepEqual([method.merchant, method.notices, method.bills], ['62220000', null, null])
    assert.equal(await method.check(), null)
  })
})
