import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'

import {
  assertUnknown,
  beginOrder,
  createMethod,
  paidOrder,
  receivedNotice,
  refundOf,
  sendRefund,
  startProblem,
  testOrder,
} from '../../test/support/payments/method-fixture.ts'
import { openWechat } from '../../test/support/payments/open-wechat.ts'
import { merchantKeys, publicKeyPair } from '../../test/support/payments/wechat-keys.ts'
import { appid, mchid } from '../../test/support/payments/wechat-orders.ts'
import { WechatServer } from '../../test/support/payments/wechat-server.ts'
import { ForgedNoticeError, ProviderError } from './payment-method.ts'
import { createWechat } from './wechat.ts'
import { beijingTimestamp } from './wechat-orders.ts'

describe('WeChat Pay', () => {
  test('settings – keys are read as PEM and as base64, PKCS#1 and PKCS#8', async () => {
    await using server = await WechatServer.start()
    const { privateKey } = merchantKeys
    const publicKey = publicKeyPair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
    for (const key of [
      String(privateKey.export({ format: 'pem', type: 'pkcs1' })),
      privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    ]) {
      const changes = { WECHAT_PRIVATE_KEY: key, WECHAT_PUBLIC_KEY: publicKey }
      await using created = createMethod(createWechat, { ...server.settings, ...changes })
      assert.equal(await created.method?.check(), null)
    }
  })

  test('settings – old and new public keys count together', async () => {
    const key = String(publicKeyPair.publicKey.export({ format: 'pem', type: 'spki' }))
    const other = String(merchantKeys.publicKey.export({ format: 'pem', type: 'spki' }))
    await using server = await WechatServer.start()
    const id = server.settings['WECHAT_PUBLIC_KEY_ID']
    const changes = { WECHAT_PUBLIC_KEY_ID: `PUB_KEY_ID_9,${id}`, WECHAT_PUBLIC_KEY: `${other},${key}` }
    await using created = createMethod(createWechat, { ...server.settings, ...changes })
    // The scripted WeChat Pay does not know the first key yet, and signs with the other one.
    assert.equal(await created.method?.check(), null)
  })

  test('settings – a wrong one refuses the start, is named, and its value is not', async () => {
    await using server = await WechatServer.start()
    const secret = 'c2VjcmV0LW9mLW5vYm9keQ=='
    for (const [name, value] of [
      ['WECHAT_MCHID', 'my shop'],
      ['WECHAT_APPID', 'wx"1'],
      ['WECHAT_SERIAL', '3775B6A4 5ACD'],
      ['WECHAT_PRIVATE_KEY', secret],
      ['WECHAT_PUBLIC_KEY', secret],
      ['WECHAT_PUBLIC_KEY', `${server.settings['WECHAT_PUBLIC_KEY']},${secret}`],
      ['WECHAT_PUBLIC_KEY_ID', '0119000000012026113000000000000001'],
      ['WECHAT_V3_KEY', secret],
      ['WECHAT_V3_KEY', `${server.settings['WECHAT_V3_KEY']},${secret}`],
      ['WECHAT_BASE', 'http://api.mch.weixin.qq.com'],
    ] as const) {
      const problem = startProblem(createWechat, { ...server.settings, [name]: value })
      assert.ok(problem.includes(`Invalid ${name}`), `${name}: ${problem}`)
      assert.ok(!problem.includes(secret))
    }
    for (const [name, other] of [
      ['WECHAT_PUBLIC_KEY', 'WECHAT_PUBLIC_KEY_ID'],
      ['WECHAT_PUBLIC_KEY_ID', 'WECHAT_PUBLIC_KEY'],
    ] as const)
      assert.ok(startProblem(createWechat, { [name]: 'PUB_KEY_ID_1' }).includes(`Invalid ${other}`), name)
  })

  test('begin – says what is paid until when, and gives a fresh code each time', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const order = testOrder(method, { amountMinor: 435n })
    const codes = [await method.begin(order), await method.begin(order)]
    for (const begun of codes) {
      assert.ok(begun.kind === 'begun' && begun.pay.kind === 'qr', begun.kind)
      assert.match(begun.pay.qr, /^weixin:\/\/wxpay\/bizpayurl\?pr=/)
    }
    assert.notDeepEqual(codes[0], codes[1])
    assert.deepEqual(server.bodies.at(-1), {
      appid,
      mchid,
      description: 'Balance',
      out_trade_no: order.id,
      time_expire: beijingTimestamp(order.expiresAt),
      notify_url: order.noticeUrl,
      amount: { total: 435, currency: 'CNY' },
    })
    assert.equal(method.lifetimeMs(86_400_000, null), 7_200_000)
    assert.equal(method.lifetimeMs(300_000, null), 300_000)
  })

  test('begin – an order that is paid is read, one with another amount or closed is refused', async () => {
    await using open = await openWechat('public-key')
    const { method } = open
    await assert.rejects(method.begin(await paidOrder(open)), ProviderError)
    const order = await beginOrder(open)
    const reason = (code: string) => ({ kind: 'refused', reason: `WeChat Pay refused the order (${code}).` })
    assert.deepEqual(await method.begin({ ...order, amountMinor: 999n }), reason('OUT_TRADE_NO_USED'))
    await method.close(order)
    assert.deepEqual(await method.begin(order), reason('ORDER_CLOSED'))
  })

  test('read – a refunded order was paid, a closed one was not, and the payer is a digest', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const order = await paidOrder(open)
    const paid = await method.read(order)
    assert.ok(paid.state === 'paid')
    const openid = 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o'
    assert.equal(paid.payment.payer, createHash('sha256').update(openid).digest('hex'))
    assert.equal(paid.payment.merchant, `${mchid}-${appid}`)
    assert.ok(Math.abs((paid.payment.paidAt ?? 0) - Date.now()) < 60_000)
    server.refundElsewhere(order.id, 100n)
    assert.deepEqual(await method.read(order), paid)
    const other = await beginOrder(open)
    assert.equal(await method.close(other), 'closed')
    assert.deepEqual(await method.read(other), { state: 'closed' })
    assert.equal(await method.close(other), 'closed')
    assert.equal(await method.close(testOrder(method)), 'closed')
  })

  test('read – every state that is not paid is none, and unknown ones conclude nothing', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const order = await beginOrder(open)
    const found = server.book.find(order.id)
    for (const [state, expected] of [
      ['NOTPAY', 'unpaid'],
      ['USERPAYING', 'unpaid'],
      ['PAYERROR', 'unpaid'],
      ['CLOSED', 'closed'],
      ['REVOKED', 'closed'],
    ] as const) {
      found.state = state
      assert.equal((await method.read(order)).state, expected, state)
    }
    for (const state of ['', 'success', 'ACCEPT', 'SUCCESS']) {
      // Without a payment, SUCCESS has no amount.
      found.state = state
      await assert.rejects(method.read(order), ProviderError, state)
    }
  })

  test('read – a signed response about another order concludes nothing', async () => {
    await using open = await openWechat('public-key')
    const [order, other] = [await beginOrder(open), await beginOrder(open)]
    open.server.book.all.set(order.id, open.server.book.find(other.id))
    await assertUnknown(open, open.method.read(order))
    await open.method.close(other)
    await assertUnknown(open, open.method.read(order))
  })

  test('errors – of the system, of too many calls and of keys conclude nothing', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const order = await paidOrder(open)
    for (const refusal of [
      [500, 'SYSTEM_ERROR'],
      [503, 'SERVICE_UNAVAILABLE'],
      [429, 'FREQUENCY_LIMITED'],
      [401, 'SIGN_ERROR'],
      [302, 'FOUND'],
      [202, 'ACCEPTED'],
      [404, 'order not exist'],
    ] as const) {
      server.refusal = refusal
      for (const call of [method.read(order), method.close(order), method.begin(order)])
        await assertUnknown(open, call)
      await assertUnknown(open, method.refund(refundOf(order, 1n)))
      await assertUnknown(open, method.readRefund(refundOf(order, 1n)))
      assert.notEqual(await method.check(), null)
    }
    server.refusal = [404, 'ORDER_NOT_EXIST']
    server.faults = { query: 'unsigned' }
    await assertUnknown(open, method.read(order))
  })

  test('refund – one that is refused after a lost response is not given back', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const refund = refundOf(await paidOrder(open), 1000n)
    server.faults = { refund: 'timeout' }
    await assert.rejects(method.refund(refund), ProviderError)
    server.faults = { refund: 'refused' }
    const [, { reference }] = server.book.findRefund(refund.id)
    assert.deepEqual(await method.refund(refund), { state: 'done', reference })
  })

  test('refund – another amount under the same number is for an operator', async () => {
    await using open = await openWechat('public-key')
    const refund = refundOf(await paidOrder(open), 400n)
    assert.equal(await sendRefund(open, refund), 'done')
    assert.equal(await sendRefund(open, { ...refund, amountMinor: 500n }), 'unclear')
    assert.equal(open.provider.payments[0]?.refundedMinor, 400n)
  })

  test('refund – one that WeChat Pay closes later is refused, and an unknown state is no state', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const refund = refundOf(await paidOrder(open), 400n)
    server.faults = { refund: 'processing' }
    assert.equal((await method.refund(refund)).state, 'sent')
    const [, found] = server.book.findRefund(refund.id)
    found.status = 'CLOSED'
    assert.equal((await method.readRefund(refund)).state, 'refused')
    Object.assign(found, { status: 'DONE' })
    await assert.rejects(method.readRefund(refund), ProviderError)
  })

  test('notice – one about a refund names it, also one made elsewhere', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const order = await paidOrder(open)
    const refund = refundOf(order, 400n)
    await method.refund(refund)
    server.refundElsewhere(order.id, 100n)
    const { transaction } = order
    for (const { number, reference } of server.book.find(order.id).refunds) {
      const subject = await method.notices?.read(receivedNotice(server.refundNotice(number)))
      assert.deepEqual(subject, { kind: 'refund', refund: number, reference, transaction })
    }
  })

  test('notice – another merchant, app or kind is of no interest', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const ours = { mchid, appid, out_trade_no: 'S2026113000001', trade_state: 'SUCCESS' }
    for (const [event, fields] of [
      ['TRANSACTION.SUCCESS', { ...ours, mchid: '1900009999' }],
      ['TRANSACTION.SUCCESS', { ...ours, appid: 'wx0000000000000000' }],
      ['TRANSACTION.SUCCESS', { mchid, appid }],
      ['REFUND.SUCCESS', { mchid: '1900009999', refund_id: '5', transaction_id: '4' }],
      ['COUPON.USE', ours],
    ] as const) {
      const notice = receivedNotice(server.signedNotice(event, fields))
      assert.deepEqual(await method.notices?.read(notice), { kind: 'other' }, event)
    }
  })

  test('notice – one that the API v3 key does not open comes again, and is not called forged', async () => {
    await using open = await openWechat('public-key', { WECHAT_V3_KEY: 'f'.repeat(32) })
    const notice = receivedNotice(open.server.notice((await paidOrder(open)).id))
    await assert.rejects(
      async () => open.method.notices?.read(notice),
      (error) => error instanceof ProviderError && error.message.includes('WECHAT_V3_KEY'),
    )
  })

  test('notice – a signature is that of one body, to the byte', async () => {
    await using open = await openWechat('public-key')
    const { method, server } = open
    const order = await paidOrder(open)
    const { headers, body } = server.notice(order.id)
    const unsigned = {
      method: 'POST',
      query: '',
      headers,
      body: JSON.stringify({ code: 'SUCCESS' }),
    } as const
    await assert.rejects(async () => method.notices?.read(receivedNotice(unsigned)), ForgedNoticeError)
    const split = { method: 'POST', query: '', headers, body: `${body}\n` } as const
    await assert.rejects(async () => method.notices?.read(receivedNotice(split)), ForgedNoticeError)
  })
})
