import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { openWechat, type OpenWechat } from '../../test/support/payments/open-wechat.ts'
import { paidOrder, receivedNotice } from '../../test/support/payments/method-fixture.ts'
import type { ScriptedNotice } from '../../test/support/payments/scripted-provider.ts'
import { ForgedNoticeError, ProviderError, type NoticeSubject } from './payment-method.ts'

const minute = 60_000
const day = 86_400_000

async function readNotice(
  { method }: OpenWechat,
  notice: ScriptedNotice,
  headers: Readonly<Record<string, string>> = {},
): Promise<NoticeSubject> {
  assert.ok(method.notices)
  return await method.notices.read(receivedNotice({ ...notice, headers: { ...notice.headers, ...headers } }))
}

const withSerial = (serial: string) => ({ 'Wechatpay-Serial': serial })

/** Sends one genuine notice, and requires that it is read. */
async function acceptNotice(open: OpenWechat, order: string): Promise<void> {
  assert.partialDeepStrictEqual(await readNotice(open, open.server.notice(order)), { kind: 'order', order })
}

describe('keys of WeChat Pay', () => {
  test('both modes – count at once, and the certificates are fetched when they are needed', async () => {
    await using open = await openWechat('both')
    const { server } = open
    const { id } = await paidOrder(open)
    await acceptNotice(open, id)
    assert.equal(server.certificateLists, 0)
    const publicKey = server.signer
    server.rotate()
    await acceptNotice(open, id)
    server.signer = publicKey
    await acceptNotice(open, id)
    assert.equal(server.certificateLists, 1)
  })

  test('certificates – concurrent calls share one fetch, and later ones use what it brought', async () => {
    await using open = await openWechat('certificates')
    const { method, server } = open
    const { id } = await paidOrder(open)
    await Promise.all(Array.from({ length: 20 }, () => acceptNotice(open, id)))
    await method.check()
    assert.equal(server.certificateLists, 1)
  })

  test('certificates – a new one is fetched as it appears, and the old one stays good', async () => {
    await using open = await openWechat('certificates')
    const { server } = open
    const { id } = await paidOrder(open)
    const old = server.signer
    server.rotate()
    // Within a minute of the last fetch there is no other one.
    await assert.rejects(readNotice(open, server.notice(id)), ForgedNoticeError)
    server.aheadMs = minute
    await acceptNotice(open, id)
    server.certificates.shift()
    server.signer = old
    await acceptNotice(open, id)
    assert.equal(server.certificateLists, 2)
  })

  test('certificates – unknown numbers cause one fetch a minute, and senseless ones none', async () => {
    await using open = await openWechat('public-key')
    const { server } = open
    const notice = server.notice((await paidOrder(open)).id)
    for (const serial of ['', 'x', 'PUB_KEY_ID_0', '__proto__', 'A'.repeat(65)])
      await assert.rejects(readNotice(open, notice, withSerial(serial)), ForgedNoticeError, serial)
    assert.equal(server.certificateLists, 0)
    for (let count = 0; count < 50; count += 1) {
      const serial = String(count).padStart(40, 'A')
      await assert.rejects(readNotice(open, notice, withSerial(serial)), ForgedNoticeError)
    }
    assert.equal(server.certificateLists, 1)
  })

  test('certificates – the list is fetched again after a day, and known ones are not held up', async () => {
    await using open = await openWechat('certificates')
    const { method, server } = open
    const { id } = await paidOrder(open)
    server.aheadMs = day - minute
    await method.check()
    assert.equal(server.certificateLists, 1)
    server.aheadMs = day + minute
    server.refusal = [500, 'SYSTEM_ERROR']
    await acceptNotice(open, id)
    server.refusal = null
    await acceptNotice(open, id)
    assert.equal(server.certificateLists, 1)
    server.aheadMs = day + 3 * minute
    const fetched = server.nextCertificateList()
    await acceptNotice(open, id)
    await fetched
    assert.equal(server.certificateLists, 2)
  })

  test('certificates – one that has expired proves nothing', async () => {
    await using open = await openWechat('certificates')
    const { server } = open
    const { id } = await paidOrder(open)
    server.aheadMs = 3 * day
    await assert.rejects(readNotice(open, server.notice(id)), ForgedNoticeError)
  })

  test('certificates – without the list nothing is known about a notice, and it comes again', async () => {
    await using open = await openWechat('certificates')
    const { server } = open
    server.pay('S2026113000001', { amountMinor: 100n })
    server.refusal = [500, 'SYSTEM_ERROR']
    for (let count = 0; count < 2; count += 1)
      await assert.rejects(readNotice(open, server.notice('S2026113000001')), ProviderError)
    server.refusal = null
    server.aheadMs = minute
    await acceptNotice(open, 'S2026113000001')
  })

  test('certificates – another API v3 key does not open them, and is named', async () => {
    const wrong = 'f'.repeat(32)
    await using open = await openWechat('certificates', { WECHAT_V3_KEY: wrong })
    const problem = (await open.method.check()) ?? ''
    assert.equal(problem, 'WECHAT_V3_KEY does not open the certificates of WeChat Pay.')
    const both = { WECHAT_V3_KEY: `${wrong},${open.server.settings['WECHAT_V3_KEY']}` }
    await using rotated = await openWechat('certificates', both)
    assert.equal(await rotated.method.check(), null)
  })

  test('certificates – a list that somebody else signed brings none', async () => {
    await using open = await openWechat('certificates')
    const { method, server } = open
    server.signsListsWrong = true
    assert.match((await method.check()) ?? '', /list of certificates has a wrong signature/)
  })

  test('notice – a probe with a signature of its own kind is refused', async () => {
    await using open = await openWechat('public-key')
    const notice = open.server.notice((await paidOrder(open)).id)
    const signature = `WECHATPAY/SIGNTEST/${notice.headers['Wechatpay-Signature']}`
    await assert.rejects(readNotice(open, notice, { 'Wechatpay-Signature': signature }), ForgedNoticeError)
  })

  test('notice – five minutes are its time, before and after', async () => {
    await using open = await openWechat('public-key')
    const { server } = open
    const notice = server.notice((await paidOrder(open)).id)
    for (const [aheadMs, problem] of [
      [302_000, /\d+ s behind/],
      [-302_000, /\d+ s ahead of/],
    ] as const) {
      server.aheadMs = aheadMs
      await assert.rejects(readNotice(open, notice), problem)
    }
    for (const aheadMs of [295_000, -295_000]) {
      server.aheadMs = aheadMs
      assert.equal((await readNotice(open, notice)).kind, 'order')
    }
  })
})
