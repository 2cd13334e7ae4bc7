import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { parseNotice } from './alipay-notices.ts'
import { isSignedBy, signedText, signText, splitResponse } from './alipay-signature.ts'

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 })

const queryResponse = String.raw`{"alipay_trade_query_response":{"code":"10000","msg":"Success","out_trade_no":"S20261130A1","total_amount":"10.00","trade_status":"TRADE_SUCCESS"},"sign":"c2lnbmF0dXJl"}`

describe('Alipay signatures', () => {
  test('request – the text that is signed is the one of the vector', () => {
    const text = signedText([
      ['version', '1.0'],
      ['timestamp', '2026-11-30 10:00:00'],
      ['sign_type', 'RSA2'],
      ['sign', 'ignored'],
      ['method', 'alipay.trade.query'],
      ['notify_url', ''],
      ['format', 'JSON'],
      ['charset', 'utf-8'],
      ['biz_content', '{"out_trade_no":"S20261130A1"}'],
      ['app_id', '2021000000000001'],
    ])
    assert.equal(
      text,
      'app_id=2021000000000001&biz_content={"out_trade_no":"S20261130A1"}&charset=utf-8&format=JSON&method=alipay.trade.query&sign_type=RSA2&timestamp=2026-11-30 10:00:00&version=1.0',
    )
    assert.equal(text.length, 175)
    assert.equal(sha256(text), '71c9c65604b70067f55396fb9539c7f19de07096f3b245ab9556aec1fa2048ff')
  })

  test('notice – the text that is signed is the one of the documented example', () => {
    const fields =
      'app_id=2015102700040153&body=大乐透2.1&buyer_id=2088102116773037&charset=utf-8&gmt_close=2016-07-19 14:10:46&gmt_payment=2016-07-19 14:10:47&notify_id=4a91b7a78a503640467525113fb7d8bg8e&notify_time=2016-07-19 14:10:49&notify_type=trade_status_sync&out_trade_no=0719141034-6418&refund_fee=0.00&seller_id=2088102119685838&subject=大乐透2.1&total_amount=2.00&trade_no=2016071921001003030200089909&trade_status=TRADE_SUCCESS&version=1.0'
    const form = new URLSearchParams(fields)
    form.set('sign_type', 'RSA2')
    form.set('sign', 'c2lnbmF0dXJl')
    const received = parseNotice(Buffer.from(form.toString()))
    const text = signedText([...received].filter(([name]) => name !== 'sign_type'))
    assert.equal(text, fields)
    assert.equal(Buffer.byteLength(text), 438)
    assert.equal(sha256(text), '4cc3a7d3125dea59fb3a7b8ce05c7f85673a4abafea03ef8ea255114a88161ae')
  })

  test('response – the bytes that are signed are those of the vector', () => {
    const { content, signature } = splitResponse(Buffer.from(queryResponse), 'alipay.trade.query') ?? {}
    assert.equal(sha256(content ?? ''), 'dd0ca62ffa1e1ccab571a3c1fa954aa1f1e8a0efb772d4d73af2c12582999fd8')
    assert.equal(signature, 'c2lnbmF0dXJl')
  })

  test('response – spaces, escapes and braces in texts stay as received', () => {
    const inner = String.raw`{ "qr_code":"https:\/\/qr.alipay.com\/}{\"" , "n":{"a":[{}]} }`
    for (const response of [
      `{"sign":"s","alipay_trade_precreate_response":${inner}}`,
      `{ "alipay_trade_precreate_response" : ${inner} ,\n"sign":"s","alipay_cert_sn":"c"}`,
    ])
      assert.equal(splitResponse(Buffer.from(response), 'alipay.trade.precreate')?.content?.toString(), inner)
  })

  test('response – what two parsers could read differently is none', () => {
    for (const response of [
      `${queryResponse}{}`,
      queryResponse.replace('"sign"', '"alipay_trade_query_response":{},"sign"'),
      queryResponse.slice(0, -1),
      '<html></html>',
      '[]',
      '',
    ])
      assert.equal(splitResponse(Buffer.from(response), 'alipay.trade.query'), null, response)
  })

  test('notice – values are decoded once, and only well-formed forms are read', () => {
    const notice = parseNotice(Buffer.from('a=%2525+%2B&b=x=y&c='))
    assert.deepEqual(
      [...notice],
      [
        ['a', '%25 +'],
        ['b', 'x=y'],
        ['c', ''],
      ],
    )
    for (const body of ['a=1&a=1', 'a=%', 'a=%FF', '%61=1&a=2'])
      assert.throws(() => parseNotice(Buffer.from(body)), { message: 'The notice is no form.' }, body)
    assert.throws(() => parseNotice(Buffer.from([0x61, 0x3d, 0xff])))
  })

  test('signature – holds for its text and keys, and for nothing else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 1 }), (text, more) => {
        const signature = signText(text, own.privateKey)
        assert.ok(isSignedBy(text, signature, [other.publicKey, own.publicKey]))
        assert.ok(!isSignedBy(text, signature, [other.publicKey]))
        assert.ok(!isSignedBy(text + more, signature, [own.publicKey]))
        assert.ok(!isSignedBy(text, '', [own.publicKey]))
      }),
      { numRuns: 30 },
    )
  })

  test('signature – the order in which parameters come does not matter', () => {
    const parameter = fc.tuple(fc.string({ minLength: 1 }), fc.string())
    const parameters = fc.uniqueArray(parameter, { selector: ([name]) => name })
    fc.assert(
      fc.property(parameters, (list) => {
        assert.equal(signedText(list), signedText(list.toReversed()))
      }),
    )
  })
})
