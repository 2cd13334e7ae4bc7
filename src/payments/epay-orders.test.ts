import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { EpayServer } from '../../test/support/payments/epay-server.ts'
import {
  openMethod,
  paidOrder,
  readBills,
  refundOf,
  testOrder,
} from '../../test/support/payments/method-fixture.ts'
import { openSite, version1, version2 } from '../../test/support/payments/open-epay.ts'
import { ProviderError } from './payment-method.ts'

describe('epay orders', () => {
  test('query – a trade status decides, nested or not; contradictions conclude nothing', async () => {
    await using open = await openMethod(version1)
    const provider = open.provider as EpayServer
    const order = await paidOrder(open)
    const expected: [string, (row: Record<string, unknown>) => Record<string, unknown>][] = [
      ['paid', (row) => ({ ...row, trade_status: 'TRADE_SUCCESS' })],
      ['paid', (row) => ({ code: 1, msg: 'ok', data: row })],
      ['unpaid', (row) => ({ ...row, trade_status: 'WAITING' })],
      ['unpaid', (row) => ({ code: 1, status: 1, data: { ...row, trade_status: 'WAIT_BUYER_PAY' } })],
      ['error', (row) => ({ ...row, trade_status: '' })],
      ['error', (row) => ({ ...row, trade_status: 'WAITING', data: { trade_status: 'TRADE_SUCCESS' } })],
      ['error', (row) => ({ ...row, status: 0, trade_status: 'TRADE_SUCCESS' })],
      ['error', (row) => ({ ...row, status: 7 })],
      ['error', (row) => ({ ...row, out_trade_no: 'S0' })],
      ['error', (row) => ({ ...row, money: '10.001' })],
      ['error', (row) => ({ ...row, trade_no: '' })],
      ['error', () => ({ code: -3, msg: '商户ID不存在' })],
      ['closed', (row) => ({ ...row, status: 2 })],
      ['processing', (row) => ({ ...row, status: 3 })],
    ]
    for (const [state, change] of expected) {
      provider.orderResponse = change
      const reading = open.method.read({ ...order, transaction: null })
      if (state === 'error') await assert.rejects(reading, ProviderError, String(change))
      else assert.equal((await reading).state, state, String(change))
    }
    provider.orderResponse = (row) => ({ ...row, status: 2 })
    assert.equal((await open.method.read(order)).state, 'paid')
  })

  test('numbers – ids and amounts that the site states as JSON numbers are exact', async () => {
    await using open = await openMethod(version1)
    const order = await paidOrder(open)
    const provider = open.provider as EpayServer
    provider.orderResponse = (row) => ({
      ...row,
      trade_no: JSON.rawJSON(String(row['trade_no'])),
      money: JSON.rawJSON('99999999.99'),
    })
    const reading = await open.method.read(order)
    assert.ok(reading.state === 'paid')
    assert.equal(reading.payment.transaction, order.transaction)
    assert.equal(reading.payment.amountMinor, 9_999_999_999n)
  })

  test('responses – a code, a page of the site, an app, or the signed page, and never HTML', async () => {
    await using open = await openMethod(version1)
    const provider = open.provider as EpayServer
    const base = open.provider.settings['EPAY_BASE'] ?? ''
    const cases: [object, RegExp][] = [
      [{ code: 1, qrcode: 'https://qr.example/1' }, /^https:\/\/qr\.example\/1$/],
      [{ code: 1, payurl: '/pay/1/' }, /^http:\/\/127\.0\.0\.1:\d+\/pay\/1\/$/],
      [{ code: 1, urlscheme: 'weixin://dl/business/?t=1' }, /^weixin:/],
      [{ code: 1, payurl: 'javascript:alert(1)' }, /submit\.php\?/],
      [{ code: 1, html: '<form>' }, /submit\.php\?/],
      // More bytes than a QR code has room for.
      [{ code: 1, qrcode: '付'.repeat(1000) }, /submit\.php\?/],
    ]
    for (const [response, expected] of cases) {
      provider.beginResponse = response as Record<string, unknown>
      const begun = await open.method.begin(testOrder(open.method))
      assert.ok(begun.kind === 'begun' && begun.pay.kind !== 'bank')
      assert.match(begun.pay.kind === 'qr' ? begun.pay.qr : begun.pay.url, expected)
    }
    provider.missing.add('mapi.php')
    const begun = await open.method.begin(testOrder(open.method))
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'redirect')
    assert.ok(begun.pay.url.startsWith(`${base}submit.php?`))
  })

  test('begin – an order that was paid in between is not refused', async () => {
    for (const contract of [version1, version2]) {
      await using open = await openMethod(contract)
      const order = await paidOrder(open)
      assert.equal((await open.method.begin(order)).kind, 'begun')
    }
  })

  test('version 2 – what cannot be shown is replaced by the page of the site', async () => {
    await using open = await openMethod(version2)
    ;(open.provider as EpayServer).beginResponse = { code: 0, pay_type: 'html', pay_info: '<form>' }
    const begun = await open.method.begin(testOrder(open.method))
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'redirect')
    assert.match(begun.pay.url, /\/pay\/qrcode\/\d+\/$/)
  })

  test('refund – the part that a site of version 1 has refunded is known only to an operator', async () => {
    await using open = await openMethod(version1)
    const refund = refundOf(await paidOrder(open), 400n)
    open.provider.faults = { refund: 'timeout' }
    assert.equal((await open.method.refund(refund)).state, 'unclear')
    assert.equal((await open.method.readRefund(refund)).state, 'unclear')
    assert.equal(open.provider.payments[0]?.refundedMinor, 400n)
  })

  test('bills – all pages are read, and a site that ignores the page has no list', async () => {
    await using open = await openMethod(version1)
    const provider = open.provider as EpayServer
    for (let count = 0; count < 120; count += 1) provider.pay(`S${count}`, { amountMinor: 100n })
    assert.equal((await readBills(open.method)).length, 120)
    provider.ignoresPage = true
    await assert.rejects(readBills(open.method), ProviderError)
  })

  test('check – reports a site whose query of orders does not work', async () => {
    await using open = await openSite({})
    open.provider.faults = { query: 'html' }
    assert.match((await open.method.check()) ?? '', /JSON/)
  })
})
