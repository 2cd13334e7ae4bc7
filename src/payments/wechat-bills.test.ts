import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { paidOrder } from '../../test/support/payments/method-fixture.ts'
import { openWechat, type OpenWechat } from '../../test/support/payments/open-wechat.ts'
import { billRow, billText } from '../../test/support/payments/wechat-bill.ts'
import { mchid, WechatOrders, type WechatOrder } from '../../test/support/payments/wechat-orders.ts'
import { BillNotReadyError, ProviderError, type BillLine } from './payment-method.ts'
import { readBill } from './wechat-bills.ts'

const at = Date.parse('2026-11-27T23:59:59+08:00')
const dayMs = 86_400_000

function orderOf(amountMinor: bigint, changes: Partial<WechatOrder> = {}): WechatOrder {
  const begun = new WechatOrders(() => at).begin('S2026112700001', amountMinor, null)
  return { ...begun, paidAt: at, state: 'SUCCESS', transaction: '4200001', ...changes }
}

const read = (rows: readonly string[], text = billText(rows)): BillLine[] => [
  ...readBill(Buffer.from(text), mchid),
]

async function listDays({ method }: OpenWechat, from: string, to = from): Promise<BillLine[]> {
  const lines: BillLine[] = []
  for await (const line of method.bills?.list(from, to) ?? []) lines.push(line)
  return lines
}

/** Beijing has no daylight-saving time. */
const dayOf = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 10)

describe('bills of WeChat Pay', () => {
  test('bill – payments have exact amounts before coupons, their order, fee and time', () => {
    const amounts = [1n, 29n, 110n, 435n, 9_999_999_999n]
    const lines = read(amounts.map((amount) => billRow(orderOf(amount, { couponMinor: 1n }), null)))
    const common = { kind: 'payment', order: 'S2026112700001', transaction: '4200001', currency: 'CNY', at }
    assert.deepEqual(
      lines,
      amounts.map((amountMinor) => ({ ...common, amountMinor, feeMinor: 6n })),
    )
  })

  test('bill – a refund is named by our number and by WeChat Pay’s, and a failed one is none', () => {
    const order = orderOf(1000n)
    const refund = { number: 'R1', reference: '5030', amountMinor: 300n, at, status: 'PROCESSING' } as const
    const failed = billRow(order, { ...refund, number: 'R2' }).replace('PROCESSING', 'FAIL')
    assert.deepEqual(read([billRow(order, refund), failed]), [
      {
        kind: 'refund',
        refund: 'R1',
        reference: '5030',
        transaction: '4200001',
        currency: 'CNY',
        amountMinor: 300n,
        at,
      },
    ])
  })

  test('bill – a fee that is no whole number of fen is unknown', () => {
    const row = billRow(orderOf(1000n), null)
    for (const [text, expected] of [
      ['0.06000', 6n],
      ['0.00000', 0n],
      ['12.30', 1230n],
      ['0.00600', null],
      ['-0.06000', null],
    ] as const) {
      const [line] = read([row.replace('`0.06000', `\`${text}`)])
      assert.ok(line?.kind === 'payment')
      assert.equal(line.feeMinor, expected, text)
    }
  })

  test('bill – what is cut, unknown, or another merchant’s is not compared', () => {
    const row = billRow(orderOf(1000n), null)
    const whole = billText([row, row])
    const rows = whole.split('\r\n')
    for (const text of [
      '',
      '<html>Busy</html>',
      rows.slice(0, -2).join('\r\n'),
      rows.slice(0, 3).join('\r\n'),
      rows.slice(1).join('\r\n'),
      whole.replace('`CNY,', ''),
      whole.replace('`SUCCESS', '`STRANGE'),
      whole.replace('`0.60%,`10.00', '`0.60%,`10.001'),
      whole.replace('`0.60%,`10.00', '`0.60%,`1e1'),
      whole.replace('2026-11-27', '2026-13-27'),
      whole.replace('`4200001', '`'),
      whole.replace(`\`${mchid}`, '`1900009999'),
    ])
      assert.throws(() => read([], text), ProviderError, text.slice(-200))
    assert.equal(read([], whole).length, 2)
  })

  test('list – each day of the span is asked for, and one without payments is empty', async () => {
    await using open = await openWechat('public-key')
    const { server } = open
    const first = await paidOrder(open)
    server.aheadMs = 2 * dayMs
    const second = await paidOrder(open, { expiresAt: server.now() + dayMs })
    server.aheadMs = 5 * dayMs
    const lines = await listDays(open, dayOf(Date.now()), dayOf(Date.now() + 2 * dayMs))
    assert.deepEqual(
      lines.map(({ transaction }) => transaction),
      [first.transaction, second.transaction],
    )
  })

  test('list – before ten o’clock a missing bill is not ready, and after it the day was empty', async () => {
    await using open = await openWechat('public-key')
    const day = dayOf(Date.now())
    const tenOClock = Date.parse(`${day}T10:00:00+08:00`) + dayMs
    open.server.aheadMs = tenOClock - 60_000 - Date.now()
    await assert.rejects(listDays(open, day), BillNotReadyError)
    open.server.aheadMs = tenOClock + 60_000 - Date.now()
    assert.deepEqual(await listDays(open, day), [])
  })

  test('list – a bill is fetched from hosts of WeChat Pay only, and by https', async () => {
    await using open = await openWechat('public-key')
    const { server } = open
    const today = dayOf(Date.now())
    await paidOrder(open)
    for (const [host, problem] of [
      ['https://evil.example', /foreign host/],
      ['https://api.mch.weixin.qq.com.evil.example', /foreign host/],
      ['https://evilapi.mch.weixin.qq.com', /foreign host/],
      ['https://api.mch.weixin.qq.com:8443', /foreign host/],
      ['https://api.mch.weixin.qq.com@evil.example', /foreign host/],
      ['http://10.0.0.1', /foreign host/],
      ['https://203.0.113.7', /foreign host/],
      ['file://127.0.0.1', /foreign host/],
      ['http://api.mch.weixin.qq.com', /must be asked by https/],
      ['', /.*/],
    ] as const) {
      server.billHost = host
      await assert.rejects(
        listDays(open, today),
        (error) => error instanceof ProviderError && problem.test(error.message),
        host,
      )
    }
    server.billHost = null
    assert.equal((await listDays(open, today)).length, 1)
  })

  test('list – the request for the file is signed, and its SHA-1 counts', async () => {
    await using open = await openWechat('certificates')
    const { server } = open
    await paidOrder(open)
    const today = dayOf(Date.now())
    assert.equal((await listDays(open, today)).length, 1)
    assert.match(server.lastDownload, /^WECHATPAY2-SHA256-RSA2048 mchid="/)
    server.faults = { bill: 'wrong-hash' }
    await assert.rejects(listDays(open, today), /differs from its SHA-1/)
  })
})
