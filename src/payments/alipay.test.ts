import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'

import { makeAlipayCertificates } from '../../test/support/payments/alipay-certificates.ts'
import { appKeys } from '../../test/support/payments/alipay-keys.ts'
import { AlipayServer, appId, sellerId } from '../../test/support/payments/alipay-server.ts'
import {
  beginOrder,
  createMethod,
  paidOrder,
  receivedNotice,
  refundOf,
  sendRefund,
  startProblem,
  testOrder,
  type OpenMethod,
  openWith,
} from '../../test/support/payments/method-fixture.ts'
import { createAlipay } from './alipay.ts'
import { beijingTime, parseBeijingTime } from './alipay-client.ts'
import { ForgedNoticeError, ProviderError } from './payment-method.ts'

type OpenAlipay = OpenMethod & { readonly server: AlipayServer }

async function openAlipay(started?: AlipayServer): Promise<OpenAlipay> {
  const server = started ?? (await AlipayServer.start())
  return { ...openWith(server, createAlipay), server }
}

describe('Alipay', () => {
  test('certificate mode – every call names both certificates, and the response’s is known', async () => {
    const certificates = makeAlipayCertificates()
    await using open = await openAlipay(await AlipayServer.start(Date.now, certificates))
    const { method, server } = open
    assert.equal(await method.check(), null)
    const order = await paidOrder(open)
    assert.equal((await method.read(order)).state, 'paid')
    const notice = receivedNotice(server.notice(order.id))
    assert.partialDeepStrictEqual(await method.notices?.read(notice), { kind: 'order', order: order.id })
    assert.equal(server.calls.at(-1)?.form.get('app_cert_sn'), certificates.appNumber)
    assert.equal(server.calls.at(-1)?.form.get('alipay_root_cert_sn'), certificates.rootNumber)
  })

  test('certificate mode – an unknown certificate proves nothing, and old and new count together', async () => {
    const [old, renewed] = [makeAlipayCertificates(), makeAlipayCertificates()]
    const alipayNumber = 'f'.repeat(32)
    await using foreign = await openAlipay(await AlipayServer.start(Date.now, { ...old, alipayNumber }))
    assert.match((await foreign.method.check()) ?? '', /ALIPAY_CERT does not contain/)
    const both = [renewed.settings['ALIPAY_APP_CERT'], old.settings['ALIPAY_CERT']].join('\n')
    const settings = { ...old.settings, ALIPAY_CERT: both }
    await using open = await openAlipay(await AlipayServer.start(Date.now, { ...old, settings }))
    assert.equal(await open.method.check(), null)
  })

  test('settings – keys are read as PEM and as base64, PKCS#1 and PKCS#8', async () => {
    await using server = await AlipayServer.start()
    const { privateKey } = appKeys
    for (const key of [
      String(privateKey.export({ format: 'pem', type: 'pkcs1' })),
      String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
      privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    ]) {
      await using created = createMethod(createAlipay, { ...server.settings, ALIPAY_PRIVATE_KEY: key })
      assert.equal(await created.method?.check(), null)
    }
  })

  test('settings – a wrong one refuses the start, is named, and its value is not', async () => {
    await using server = await AlipayServer.start()
    const { settings } = server
    const certificates = makeAlipayCertificates().settings
    const secret = 'c2VjcmV0LW9mLW5vYm9keQ=='
    const withoutPublicKey = Object.fromEntries(
      Object.entries(settings).filter(([name]) => name !== 'ALIPAY_PUBLIC_KEY'),
    )
    for (const [wrong, name] of [
      [{ ...settings, ALIPAY_PRIVATE_KEY: secret }, 'ALIPAY_PRIVATE_KEY'],
      [{ ...settings, ALIPAY_PUBLIC_KEY: secret }, 'ALIPAY_PUBLIC_KEY'],
      [{ ...settings, ...certificates }, 'ALIPAY_PUBLIC_KEY'],
      [{ ...withoutPublicKey, ...certificates, ALIPAY_CERT: secret }, 'ALIPAY_CERT'],
      [{ ...withoutPublicKey, ...certificates, ALIPAY_ROOT_CERT: secret }, 'ALIPAY_ROOT_CERT'],
      [{ ...withoutPublicKey, ALIPAY_CERT: 'x' }, 'ALIPAY_APP_CERT'],
      [{ ...settings, ALIPAY_APP_ID: 'my app' }, 'ALIPAY_APP_ID'],
      [{ ...settings, ALIPAY_PRODUCTS: ',' }, 'ALIPAY_PRODUCTS'],
      [{ ...settings, ALIPAY_BASE: 'http://openapi.alipay.com/gateway.do' }, 'ALIPAY_BASE'],
    ] as const) {
      const problem = startProblem(createAlipay, wrong)
      assert.ok(problem.includes(`Invalid ${name}`), `${name}: ${problem}`)
      assert.ok(!problem.includes(secret))
    }
  })

  test('QR code – can be paid for two hours at most, the page for as long as is set', async () => {
    await using open = await openAlipay()
    const hours = (configured: number, product: string | null) =>
      open.method.lifetimeMs(configured * 3_600_000, product) / 3_600_000
    assert.deepEqual([hours(1, 'qr'), hours(23, 'qr'), hours(23, 'page')], [1, 2, 23])
  })

  test('page – the link is signed, says what is paid, and holds no more than that', async () => {
    await using open = await openAlipay()
    const order = testOrder(open.method, { product: 'page', amountMinor: 435n })
    const begun = await open.method.begin(order)
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'redirect', begun.kind)
    const link = new URL(begun.pay.url)
    assert.equal(`${link.origin}${link.pathname}`, open.provider.settings['ALIPAY_BASE'])
    assert.deepEqual(JSON.parse(link.searchParams.get('biz_content') ?? ''), {
      out_trade_no: order.id,
      total_amount: '4.35',
      subject: 'Balance',
      product_code: 'FAST_INSTANT_TRADE_PAY',
      time_expire: beijingTime(order.expiresAt),
    })
    assert.equal(link.searchParams.get('notify_url'), order.noticeUrl)
    assert.equal(link.searchParams.get('return_url'), order.returnUrl)
    const opened = await (await fetch(link)).text()
    assert.equal(opened, '<html>Alipay</html>')
    link.searchParams.set('notify_url', 'https://elsewhere.example')
    assert.match(await (await fetch(link)).text(), /invalid-signature/)
  })

  test('QR code – the older contract is used where the app has only that', async () => {
    await using open = await openAlipay()
    open.server.qrProduct = 'FACE_TO_FACE_PAYMENT'
    const begun = await open.method.begin(testOrder(open.method))
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'qr', begun.kind)
    assert.match(begun.pay.qr, /^https:\/\/qr\.alipay\.com\/\d{28}$/)
  })

  test('QR code – an order that is paid already is read, not refused', async () => {
    await using open = await openAlipay()
    const order = await paidOrder(open)
    await assert.rejects(open.method.begin(order), ProviderError)
    const { id } = await beginOrder(open)
    const altered = await open.method.begin(testOrder(open.method, { id, amountMinor: 999n }))
    assert.deepEqual(altered, {
      kind: 'refused',
      reason: 'Alipay refused the order (ACQ.CONTEXT_INCONSISTENT).',
    })
  })

  test('read – paid is paid for months, scanned is unpaid, and closed is closed', async () => {
    await using open = await openAlipay()
    const { method, server } = open
    const order = await beginOrder(open)
    server.scan(order.id)
    assert.deepEqual(await method.read(order), { state: 'unpaid' })
    server.pay(order.id)
    const paid = await method.read(order)
    assert.ok(paid.state === 'paid')
    assert.equal(paid.payment.payer, createHash('sha256').update('2088102116773037').digest('hex'))
    assert.equal(paid.payment.merchant, `${sellerId}-${appId}`)
    assert.ok(Math.abs((paid.payment.paidAt ?? 0) - Date.now()) < 60_000)
    Object.assign(server.trades.find(order.id), { status: 'TRADE_FINISHED' })
    assert.deepEqual(await method.read(order), paid)
    const other = await beginOrder(open)
    server.scan(other.id)
    assert.equal(await method.close(other), 'closed')
    assert.deepEqual(await method.read(other), { state: 'closed' })
    assert.equal(await method.close(other), 'closed')
  })

  test('read – unknown states and errors of the system conclude nothing', async () => {
    await using open = await openAlipay()
    const { method, server } = open
    const order = await paidOrder(open)
    for (const status of ['', 'TRADE_PENDING', 'trade_success']) {
      Object.assign(server.trades.find(order.id), { status })
      await assert.rejects(method.read(order), ProviderError, status)
    }
    for (const amountMinor of [-100n, 10n ** 14n]) {
      Object.assign(server.trades.find(order.id), { status: 'TRADE_SUCCESS', amountMinor })
      await assert.rejects(method.read(order), ProviderError, String(amountMinor))
    }
    server.refusal = 'ACQ.SYSTEM_ERROR'
    await assert.rejects(method.read(order), /ACQ\.SYSTEM_ERROR/)
    await assert.rejects(method.close(order), ProviderError)
    await assert.rejects(method.refund(refundOf(order, 1n)), ProviderError)
  })

  test('refund – one that is refused after a lost response is not given back', async () => {
    await using open = await openAlipay()
    const { method, server } = open
    const refund = refundOf(await paidOrder(open), 1000n)
    server.faults = { refund: 'timeout' }
    await assert.rejects(method.refund(refund), ProviderError)
    server.faults = { refund: 'refused' }
    assert.deepEqual(await method.refund(refund), { state: 'done', reference: refund.id })
  })

  test('refund – another amount under the same number is for an operator', async () => {
    await using open = await openAlipay()
    const refund = refundOf(await paidOrder(open), 400n)
    assert.equal(await sendRefund(open, refund), 'done')
    assert.equal(await sendRefund(open, { ...refund, amountMinor: 500n }), 'unclear')
    assert.equal(open.provider.payments[0]?.refundedMinor, 400n)
  })

  test('notice – one about a refund names it, and one of another merchant is of no interest', async () => {
    await using open = await openAlipay()
    const { method, server } = open
    const order = await paidOrder(open)
    const refund = refundOf(order, 400n)
    await method.refund(refund)
    const elsewhere = server.refundElsewhere(order.id, 100n)
    for (const number of [refund.id, elsewhere]) {
      const subject = await method.notices?.read(receivedNotice(server.refundNotice(number)))
      const { transaction } = order
      assert.deepEqual(subject, { kind: 'refund', refund: number, reference: number, transaction })
    }
    const foreign = await beginOrder(open)
    server.pay(foreign.id, { merchant: '2088000000009999' })
    const notice = receivedNotice(server.notice(foreign.id))
    assert.deepEqual(await method.notices?.read(notice), { kind: 'other' })
    const otherApp = server.signedNotice({
      app_id: '2021000000009999',
      seller_id: sellerId,
      out_trade_no: order.id,
    })
    assert.deepEqual(await method.notices?.read(receivedNotice(otherApp)), { kind: 'other' })
  })

  test('notice – a purchase link of the relay’s own is no notice', async () => {
    await using open = await openAlipay()
    const begun = await open.method.begin(testOrder(open.method, { product: 'page' }))
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'redirect')
    const link = new URLSearchParams(new URL(begun.pay.url).search)
    link.set('trade_status', 'TRADE_SUCCESS')
    const notice = { method: 'POST', query: '', headers: {}, body: link.toString() } as const
    await assert.rejects(async () => open.method.notices?.read(receivedNotice(notice)), ForgedNoticeError)
  })

  test('times – are Beijing’s, and what is none is none', () => {
    const at = Date.UTC(2026, 10, 30, 16, 0, 5)
    assert.equal(beijingTime(at), '2026-12-01 00:00:05')
    assert.equal(parseBeijingTime('2026-12-01 00:00:05'), at)
    for (const text of ['', '2026-12-01', '2026-13-01 00:00:05', '2026-12-01 00:00:05.123'])
      assert.equal(parseBeijingTime(text), null, text)
  })
})
