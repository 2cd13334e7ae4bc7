import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { describe, test } from 'node:test'

import { sealResource } from '../../test/support/payments/wechat-keys.ts'
import { WechatObject } from './wechat-object.ts'
import {
  authorizationOf,
  isSignedBy,
  messageText,
  openResource,
  requestText,
  type RequestToSign,
} from './wechat-signature.ts'

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const merchant = generateKeyPairSync('rsa', { modulusLength: 2048 })

const certificates: RequestToSign = {
  method: 'GET',
  path: '/v3/certificates',
  seconds: '1554208460',
  nonce: '593BEC0C930BF1AFEB40B4A08C8FB242',
  body: '',
}

const response = {
  seconds: '1722850421',
  nonce: 'd824f2e086d3c1df967785d13fcd22ef',
  body: Buffer.from('{"code_url":"weixin://wxpay/bizpayurl?pr=JyC91EIz1"}'),
}

const v3Key = Buffer.from('0123456789abcdef0123456789abcdef')
const opened = '{"out_trade_no":"S20261130A1","trade_state":"SUCCESS"}'
const resource = {
  ciphertext:
    'DUcclrHBE5NffFMk6pzEyhUJz1nix96RDwNqIzZp7K6qaxMevdMteN6HKYiO79x4KcPU2Vp7Dyyf5C83SgdNuDuPtMEbIw==',
  nonce: 'fdasflkja484',
  associatedData: 'transaction',
}
/** Without additional data, only the tag differs: the last 16 bytes. */
const withoutData = { ...resource, associatedData: '', ciphertext: withTag('7vA9/SxjXXODa+BQtNemhqA==') }

/** The encrypted text with another end of its base64. */
function withTag(end: string): string {
  return resource.ciphertext.slice(0, -end.length) + end
}

describe('signatures and resources of WeChat Pay', () => {
  test('request – an empty body is an empty last line', () => {
    const text = requestText(certificates)
    assert.equal(text, 'GET\n/v3/certificates\n1554208460\n593BEC0C930BF1AFEB40B4A08C8FB242\n\n')
    assert.equal(Buffer.byteLength(text), 66)
    assert.equal(sha256(text), 'fab5c8a222049f386cb01453c7dc712c7997e756271557b0ef6e2e5060575373')
  })

  test('request – the header names the merchant, its certificate, and what was signed', () => {
    const header = authorizationOf(certificates, {
      mchid: '1900009191',
      serial: '1DDE55AD98ED71D6EDD4A4A16996DE7B47773A8C',
      privateKey: merchant.privateKey,
    })
    const [, signature = ''] = /signature="([^"]+)"/.exec(header) ?? []
    assert.equal(
      header.replace(signature, '…'),
      'WECHATPAY2-SHA256-RSA2048 mchid="1900009191",nonce_str="593BEC0C930BF1AFEB40B4A08C8FB242",signature="…",timestamp="1554208460",serial_no="1DDE55AD98ED71D6EDD4A4A16996DE7B47773A8C"',
    )
    const text = Buffer.from(requestText(certificates))
    assert.ok(verify('sha256', text, merchant.publicKey, Buffer.from(signature, 'base64')))
  })

  test('response – the body counts as received', () => {
    const text = messageText(response)
    assert.equal(text.length, 97)
    assert.equal(sha256(text), '2f190612debde9369868489ccda12b9b816381eb5632a8abb73bfe80b6dbd5da')
    assert.equal(
      messageText({ ...response, body: Buffer.alloc(0) })
        .toString()
        .split('\n')[2],
      '',
    )
  })

  test('response – every changed part makes the signature wrong', () => {
    const signature = sign('sha256', messageText(response), merchant.privateKey).toString('base64')
    const signed = { ...response, serial: 'A', signature }
    assert.ok(isSignedBy(signed, merchant.publicKey))
    for (const change of [
      { seconds: '1722850422' },
      { nonce: 'd824f2e086d3c1df967785d13fcd22ee' },
      { body: Buffer.concat([response.body, Buffer.from('\n')]) },
      { signature: '' },
    ])
      assert.ok(!isSignedBy({ ...signed, ...change }, merchant.publicKey), JSON.stringify(change))
  })

  test('resource – opens with and without additional data', () => {
    assert.equal(openResource(resource, [v3Key])?.toString(), opened)
    assert.equal(openResource(withoutData, [v3Key])?.toString(), opened)
    assert.equal(openResource({ ...withoutData, associatedData: 'transaction' }, [v3Key]), null)
    assert.equal(openResource({ ...resource, associatedData: '' }, [v3Key]), null)
  })

  test('resource – each changed bit of text and tag, and a cut tag, keep it closed', () => {
    const sealed = Buffer.from(resource.ciphertext, 'base64')
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
      assert.equal(openResource({ ...resource, ciphertext: changed.toString('base64') }, [v3Key]), null)
    }
    for (const length of [0, 15, 16, sealed.length - 12]) {
      const ciphertext = sealed.subarray(0, length).toString('base64')
      assert.equal(openResource({ ...resource, ciphertext }, [v3Key]), null, String(length))
    }
    for (const nonce of ['', 'fdasflkja48', 'fdasflkja4844'])
      assert.equal(openResource({ ...resource, nonce }, [v3Key]), null, nonce)
  })

  test('resource – any text comes back as it was, with any one of the keys', () => {
    for (let count = 0; count < 200; count += 1) {
      const text = randomBytes(count).toString('base64')
      const other = randomBytes(32)
      const { ciphertext, nonce, associated_data } = sealResource(text, text.slice(0, 3), v3Key.toString())
      const sealed = { ciphertext, nonce, associatedData: associated_data }
      assert.equal(openResource(sealed, [other, v3Key])?.toString(), text)
      assert.equal(openResource(sealed, [other]), null)
    }
  })

  test('amounts – are whole numbers as they are written, and nothing else', () => {
    const read = (total: string): bigint | null | undefined =>
      WechatObject.parse(Buffer.from(`{"amount":{"total":${total}}}`))
        ?.object('amount')
        ?.minor('total')
    for (const minor of [0n, 1n, 29n, 435n, 9_999_999_999n, 999_999_999_999_999n])
      assert.equal(read(String(minor)), minor)
    for (const text of ['1.0', '1e2', '-1', '"100"', 'null', '1000000000000000', '100.5', '[1]'])
      assert.equal(read(text), null, text)
    assert.equal(WechatObject.parse(Buffer.from('{"total":1,"total":2}')), null)
  })
})
