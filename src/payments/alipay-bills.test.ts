import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { AlipayServer } from '../../test/support/payments/alipay-server.ts'
import { billArchive } from '../../test/support/payments/alipay-trades.ts'
import { createMethod } from '../../test/support/payments/method-fixture.ts'
import { gbkOf, zipOf } from '../../test/support/payments/zip-file.ts'
import { readConfig } from '../config.ts'
import { createAlipay } from './alipay.ts'
import { readBill as readLines } from './alipay-bills.ts'
import { BillNotReadyError, ProviderError, type BillLine } from './payment-method.ts'
import { ProviderHttp } from './provider-http.ts'

const day = '2026-11-27'
const at = `${day} 23:59:59`

function row(
  kind: string,
  amount: string,
  changes: { readonly number?: string; readonly fee?: string } = {},
) {
  const { number = '', fee = '-0.06' } = changes
  const empty = Array.from({ length: 5 }, () => '')
  const sums = [amount, ...Array.from({ length: 6 }, () => '0.00'), '', '0.00', '0.00']
  return [
    '2026112722001\t',
    'S1\t',
    kind,
    '"a ""b"", c"',
    at,
    at,
    ...empty,
    ...sums,
    `${number}\t`,
    fee,
    '0.00',
    '',
  ].join(',')
}

const archiveOf = (lines: readonly string[]): Buffer =>
  zipOf([{ name: gbkOf('明细.csv'), data: gbkOf(lines.join('\n')) }])

async function listDays(server: AlipayServer, now: () => number, days: readonly [string, string]) {
  const config = readConfig({ ...server.settings })
  await using http = new ProviderHttp(config.paymentAllow)
  const lines: BillLine[] = []
  const list = createAlipay({ config, currency: 'CNY', http, now })?.bills?.list(...days)
  for await (const line of list ?? []) lines.push(line)
  return lines
}

const readBill = (archive: Buffer) => [...readLines(archive)]

describe('Alipay’s bills', () => {
  test('bill – payments and refunds have exact amounts, numbers, fees and times', () => {
    const paid = [row('交易', '0.29'), row('交易', '99999999.99', { fee: '' })]
    const lines = readBill(
      billArchive(day, paid, [row('退款', '-4.35', { number: 'S1R1' }), row('退款', '-1')]),
    )
    const common = { transaction: '2026112722001', currency: 'CNY', at: Date.UTC(2026, 10, 27, 15, 59, 59) }
    assert.deepEqual(lines, [
      { kind: 'payment', order: 'S1', feeMinor: 6n, amountMinor: 29n, ...common },
      { kind: 'payment', order: 'S1', feeMinor: null, amountMinor: 9_999_999_999n, ...common },
      { kind: 'refund', refund: 'S1R1', reference: 'S1R1', amountMinor: 435n, ...common },
      { kind: 'refund', refund: null, reference: `2026112722001 ${at}`, amountMinor: 100n, ...common },
    ])
  })

  test('bill – one with a line that cannot be read exactly is not compared', () => {
    for (const wrong of [
      row('交易', '1.005'),
      row('交易', '1e3'),
      row('交易', ''),
      row('交易', '1', { fee: '?' }),
      row('撤销', '1'),
      row('交易', '1').replaceAll(at, ''),
      row('交易', '1').slice(0, 60),
      row('交易', '1').replace('2026112722001', ''),
    ])
      assert.throws(() => readBill(billArchive(day, [row('交易', '1'), wrong], [])), ProviderError, wrong)
  })

  test('bill – one without its end, or with another count than it states, is not compared', () => {
    const head = ['#支付宝业务明细查询', '支付宝交易号,完成时间']
    assert.throws(() => readBill(archiveOf(head)), { message: 'The bill is cut.' })
    const counted = [...head, '#---业务明细列表结束---', '#交易合计：1笔，商家实收共1.00元']
    assert.throws(() => readBill(archiveOf(counted)), { message: /another number of lines/ })
    assert.throws(() => readBill(archiveOf(['#支付宝业务汇总查询'])), {
      message: 'The bill contains no list.',
    })
    assert.throws(() => readBill(Buffer.from('<html>')), ProviderError)
  })

  test('days – each is asked for once, and the days between are listed', async () => {
    let now = Date.parse('2026-11-26T12:00:00+08:00')
    await using server = await AlipayServer.start(() => now)
    server.pay('S1', { amountMinor: 100n })
    now = Date.parse('2026-11-27T23:59:59+08:00')
    server.pay('S2', { amountMinor: 200n })
    now = Date.parse('2026-11-28T00:00:00+08:00')
    server.pay('S3', { amountMinor: 300n })
    const lines = await listDays(server, () => now, ['2026-11-26', '2026-11-27'])
    assert.deepEqual(
      lines.map(({ amountMinor }) => amountMinor),
      [100n, 200n],
    )
    const asked = server.calls.map(({ form }) => JSON.parse(form.get('biz_content') ?? '{}') as object)
    assert.deepEqual(asked, [
      { bill_type: 'trade', bill_date: '2026-11-26' },
      { bill_type: 'trade', bill_date: '2026-11-27' },
    ])
  })

  test('days – one without a bill is empty only once a late bill would be there', async () => {
    let now = Date.parse('2026-11-29T11:59:59+08:00')
    await using server = await AlipayServer.start(() => now)
    await assert.rejects(
      listDays(server, () => now, [day, day]),
      BillNotReadyError,
    )
    now += 1000
    assert.deepEqual(await listDays(server, () => now, [day, day]), [])
  })

  test('address – a foreign host is not asked', async () => {
    await using server = await AlipayServer.start()
    await using created = createMethod(createAlipay, server.settings)
    for (const address of ['https://bill.example/x', 'https://alipay.com.example/x', 'not a URL']) {
      server.billAddress = address
      server.pay(`S${address.length}`, { amountMinor: 1n })
      const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'Asia/Shanghai' }).format(Date.now())
      const list = created.method?.bills?.list(today, today)
      await assert.rejects(async () => list?.[Symbol.asyncIterator]().next(), /foreign host|no address/)
    }
  })
})
