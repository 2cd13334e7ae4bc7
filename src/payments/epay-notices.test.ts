import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'

import { md5, md5Key } from '../../test/support/payments/epay-state.ts'
import { beginOrder, receivedNotice, testOrder } from '../../test/support/payments/method-fixture.ts'
import { openSite } from '../../test/support/payments/open-epay.ts'
import { md5Signer, signedText } from './epay-signature.ts'
import { ForgedNoticeError } from './payment-method.ts'

/** A notice with these fields, signed with the right key. */
function signedNotice(fields: Record<string, string>, query = new URLSearchParams(fields).toString()) {
  return receivedNotice({
    method: 'GET',
    query: `?${query}&sign=${md5(fields)}&sign_type=MD5`,
    headers: {},
    body: '',
  })
}

const genuine = {
  pid: '1001',
  trade_no: '20260806151343021',
  out_trade_no: 'S20261130A1',
  type: 'alipay',
  name: 'Balance',
  money: '1.00',
  trade_status: 'TRADE_SUCCESS',
}

describe('epay signatures', () => {
  test('MD5 – equals the vectors of a request and of a notice', () => {
    const request = {
      money: '1.00',
      name: 'Balance',
      notify_url: 'https://relay.example/notify',
      out_trade_no: '20260806151343349',
      pid: '1001',
      return_url: 'https://relay.example/return',
      type: 'alipay',
      param: '',
      sign_type: 'MD5',
    }
    assert.equal(md5Signer(md5Key).sign(request), 'b97bd2bcfd11ecd6963c399bfd2a5cc6')
    const notice = { ...genuine, out_trade_no: '20260806151343349' }
    assert.equal(md5Signer(md5Key).sign(notice), '6d286dafff17bd7f9dbc9b031b463d36')
    assert.ok(md5Signer(md5Key).verify(notice, '6d286dafff17bd7f9dbc9b031b463d36'))
    assert.ok(!md5Signer(md5Key).verify(notice, '6d286dafff17bd7f9dbc9b031b463d37'))
    assert.ok(!md5Signer(md5Key).verify(notice, ''))
  })

  test('text to sign – equals the vector of version 2', () => {
    const fields = {
      pid: '1001',
      trade_no: '2026113021001',
      out_trade_no: 'S20261130A1',
      type: 'wxpay',
      name: 'Balance',
      money: '10.00',
      trade_status: 'TRADE_SUCCESS',
      timestamp: '1764468000',
      sign: 'x',
      sign_type: 'RSA',
    }
    assert.equal(
      createHash('sha256').update(signedText(fields)).digest('hex'),
      '0631686a77f7ef08a7478bb4710c841db7182a3762ab66f083dfbd42e206df8f',
    )
  })
})

describe('epay notices', () => {
  test('concatenation – no signed request or joined value passes for a notice', async () => {
    await using open = await openSite({})
    const { method } = open
    assert.partialDeepStrictEqual(await method.notices?.read(signedNotice(genuine)), {
      kind: 'order',
      order: 'S20261130A1',
    })
    const { trade_status: status, ...unpaid } = genuine
    const attacks = [
      // A link to the page, with what makes it paid in a value that an attacker chose.
      { ...unpaid, name: `Balance&trade_status=${status}` },
      { ...genuine, notify_url: 'https://relay.example/notify' },
      { ...genuine, return_url: 'https://relay.example/return' },
      { ...genuine, param: 'a=b' },
      { ...genuine, name: 'Balance\u0000' },
      { ...genuine, 'out_trade_no[]': 'S20261130A2' },
    ]
    for (const attack of attacks)
      await assert.rejects(async () => method.notices?.read(signedNotice(attack)), ForgedNoticeError)
    const split = new URLSearchParams(unpaid).toString().replace('&type', `&trade_status=${status}&type`)
    await assert.rejects(
      async () => method.notices?.read(signedNotice({ ...unpaid, name: `Balance&x=1` }, split)),
      ForgedNoticeError,
    )
  })

  test('concatenation – an order with an ampersand in its name is signed without it', async () => {
    await using open = await openSite({ EPAY_TYPES: '' })
    const begun = await open.method.begin(
      testOrder(open.method, { description: `A&trade_status=TRADE_SUCCESS${'余'.repeat(60)}` }),
    )
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'redirect')
    const fields = Object.fromEntries(new URL(begun.pay.url).searchParams)
    assert.equal(fields['sign'], md5(fields))
    assert.match(fields['name'] ?? '', /^A trade_status TRADE_SUCCESS余+$/)
    assert.ok(Buffer.byteLength(fields['name'] ?? '') <= 127)
    const returnUrl = 'https://relay.example/?a=1&trade_status=TRADE_SUCCESS'
    await assert.rejects(async () => open.method.begin(testOrder(open.method, { returnUrl })), /ampersand/)
  })

  test('facts – another merchant, type or algorithm is refused; unpaid is of no interest', async () => {
    await using open = await openSite({})
    const { notices } = open.method
    for (const wrong of [{ pid: '1002' }, { type: 'usdt' }])
      await assert.rejects(
        async () => notices?.read(signedNotice({ ...genuine, ...wrong })),
        ForgedNoticeError,
      )
    const rsaType = signedNotice(genuine)
    const otherType = { ...rsaType, query: rsaType.query.replace('MD5', 'RSA') }
    await assert.rejects(async () => notices?.read(otherType), ForgedNoticeError)
    const waiting = { ...genuine, trade_status: 'WAIT_BUYER_PAY' }
    assert.deepEqual(await notices?.read(signedNotice(waiting)), { kind: 'other' })
  })

  test('POST – a form in the body is read like a query', async () => {
    await using open = await openSite({})
    const { query } = signedNotice(genuine)
    const posted = receivedNotice({ method: 'POST', query: '', headers: {}, body: query })
    assert.partialDeepStrictEqual(await open.method.notices?.read(posted), {
      kind: 'order',
      order: 'S20261130A1',
    })
  })

  test('EPAY_TRUST_NOTICE – off, an order is unpaid until the site confirms it; on, it is paid', async () => {
    for (const trust of ['0', '1']) {
      await using open = await openSite({ EPAY_TRUST_NOTICE: trust })
      const order = await beginOrder(open)
      await open.method.notices?.read(signedNotice({ ...genuine, out_trade_no: order.id }))
      const reading = await open.method.read(order)
      assert.equal(reading.state, trust === '1' ? 'paid' : 'unpaid')
      if (reading.state === 'paid') assert.equal(reading.payment.amountMinor, 100n)
    }
  })
})
