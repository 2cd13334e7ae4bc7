/** The scripted Alipay without HTTP: its trades and refunds, and the bill of them. */
import { randomInt } from 'node:crypto'

import { formatMinor } from '../../../src/lib/currency.ts'
import type { GenuinePayment, PaymentChanges } from './scripted-provider.ts'
import { gbkOf, zipOf } from './zip-file.ts'

export interface AlipayRefund {
  readonly number: string
  readonly amountMinor: bigint
  readonly at: number
  state: 'processing' | 'done'
}

export interface AlipayTrade {
  readonly order: string
  readonly noticeUrl: string | null
  readonly transaction: string
  readonly refunds: AlipayRefund[]
  amountMinor: bigint
  couponMinor: bigint
  currency: string
  seller: string
  /** null: nobody has scanned the code or signed in, and Alipay says that there is no trade. */
  status: 'TRADE_SUCCESS' | 'TRADE_FINISHED' | 'TRADE_CLOSED' | 'WAIT_BUYER_PAY' | null
  paidAt: number | null
}

/** A response of Alipay that refuses a call for reasons of business. */
export class RefusedCallError extends Error {}

/** The connection ends without a response. */
export class NoResponseError extends Error {}

export const yuan = (minor: bigint): string => formatMinor(minor, 'CNY')

/** `2026-11-30 10:00:00`, in Beijing. */
export function beijingText(at: number): string {
  const options = { timeZone: 'Asia/Shanghai', dateStyle: 'short', timeStyle: 'medium' } as const
  return new Intl.DateTimeFormat('sv-SE', options).format(at)
}

export class AlipayTrades {
  readonly all = new Map<string, AlipayTrade>()
  readonly #seller: string
  readonly #now: () => number

  constructor(seller: string, now: () => number) {
    this.#seller = seller
    this.#now = now
  }

  /** What a call or a link begins; repeated, it finds what it began. */
  begin(order: string, amountMinor: bigint, noticeUrl: string | null): AlipayTrade {
    const known = this.all.get(order)
    if (known?.paidAt !== null && known !== undefined) throw new RefusedCallError('ACQ.TRADE_HAS_SUCCESS')
    if (known?.status === 'TRADE_CLOSED') throw new RefusedCallError('ACQ.TRADE_HAS_CLOSE')
    if (known !== undefined && known.amountMinor !== amountMinor)
      throw new RefusedCallError('ACQ.CONTEXT_INCONSISTENT')
    const day = beijingText(this.#now()).slice(0, 10).replaceAll('-', '')
    const trade: AlipayTrade = known ?? {
      order,
      noticeUrl,
      transaction: `${day}22001${randomInt(10 ** 14)}`.padEnd(28, '0'),
      refunds: [],
      amountMinor,
      couponMinor: 0n,
      currency: 'CNY',
      seller: this.#seller,
      status: null,
      paidAt: null,
    }
    this.all.set(order, trade)
    return trade
  }

  /** By Alipay's number or the merchant's. Throws `ACQ.TRADE_NOT_EXIST` for one that nobody has scanned, too. */
  find(name: string): AlipayTrade {
    const trade = this.all.get(name) ?? [...this.all.values()].find(({ transaction }) => transaction === name)
    if (trade === undefined || trade.status === null) throw new RefusedCallError('ACQ.TRADE_NOT_EXIST')
    return trade
  }

  pay(order: string, changes: PaymentChanges): AlipayTrade {
    const begun = this.all.get(order)
    const amountMinor = changes.amountMinor ?? begun?.amountMinor
    if (amountMinor === undefined) throw new Error(`Alipay knows no order ${order}`)
    const trade = begun ?? this.begin(order, amountMinor, null)
    Object.assign(trade, {
      amountMinor,
      couponMinor: changes.couponMinor ?? 0n,
      currency: changes.currency ?? 'CNY',
      seller: changes.merchant ?? this.#seller,
      transaction: changes.transaction ?? trade.transaction,
      status: 'TRADE_SUCCESS',
      paidAt: this.#now(),
    })
    return trade
  }

  close(trade: AlipayTrade): void {
    if (trade.status !== 'WAIT_BUYER_PAY') throw new RefusedCallError('ACQ.REASON_TRADE_STATUS_INVALID')
    trade.status = 'TRADE_CLOSED'
  }

  /** Whether money moves now: not again under the same number, and not while it is being processed. */
  refund(trade: AlipayTrade, number: string, amountMinor: bigint, state: AlipayRefund['state']): boolean {
    const known = trade.refunds.find((refund) => refund.number === number)
    if (known !== undefined && known.amountMinor !== amountMinor)
      throw new RefusedCallError('ACQ.DISCORDANT_REPEAT_REQUEST')
    if (known !== undefined) return false
    if (trade.status !== 'TRADE_SUCCESS') throw new RefusedCallError('ACQ.TRADE_STATUS_ERROR')
    const left = trade.amountMinor - refundedOf(trade)
    if (amountMinor > left) throw new RefusedCallError('ACQ.REASON_TRADE_REFUND_FEE_ERR')
    trade.refunds.push({ number, amountMinor, at: this.#now(), state })
    if (amountMinor === left) trade.status = 'TRADE_CLOSED'
    return state === 'done'
  }

  get payments(): GenuinePayment[] {
    return [...this.all.values()]
      .filter(({ paidAt }) => paidAt !== null)
      .map((trade) => ({
        order: trade.order,
        transaction: trade.transaction,
        amountMinor: trade.amountMinor,
        refundedMinor: refundedOf(trade),
      }))
  }

  /** The ZIP archive of a day (`2026-11-30`). null: nothing was paid or refunded. */
  bill(day: string): Buffer | null {
    const isOfDay = (at: number): boolean => beijingText(at).startsWith(day)
    const trades = [...this.all.values()].filter(({ paidAt }) => paidAt !== null)
    const paid = trades.filter(({ paidAt }) => isOfDay(paidAt ?? 0)).map((trade) => billRow(trade, null))
    const refunded = trades.flatMap((trade) =>
      trade.refunds.filter(({ at }) => isOfDay(at)).map((refund) => billRow(trade, refund)),
    )
    if (paid.length + refunded.length === 0) return null
    return billArchive(day, paid, refunded)
  }
}

export function refundedOf(trade: AlipayTrade): bigint {
  return trade.refunds.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
}

const billColumns =
  '支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注'

function billRow(trade: AlipayTrade, refund: AlipayRefund | null): string {
  const at = beijingText(refund?.at ?? trade.paidAt ?? 0)
  const amount = refund === null ? yuan(trade.amountMinor) : `-${yuan(refund.amountMinor)}`
  const received = refund === null ? yuan(trade.amountMinor - trade.couponMinor) : amount
  return [
    `${trade.transaction}\t`,
    `${trade.order}\t`,
    refund === null ? '交易' : '退款',
    '"余额, 充值"',
    at,
    at,
    ...Array.from({ length: 4 }, () => '\t'),
    '*某(138****0000)',
    amount,
    received,
    ...Array.from({ length: 5 }, () => '0.00'),
    '\t',
    '0.00',
    '0.00',
    `${refund?.number ?? ''}\t`,
    refund === null ? '-0.01' : '0.00',
    '0.00',
    '',
  ].join(',')
}

/** A list of the lines, and one of sums, which says nothing about single payments. */
export function billArchive(day: string, paid: readonly string[], refunded: readonly string[]): Buffer {
  const line = '-----------------------------------------'
  const head = (title: string) => [
    `#支付宝${title}`,
    '#账号：[20880000000000000156]',
    `#起始日期：[${day} 00:00:00]`,
  ]
  const list = [
    ...head('业务明细查询'),
    `#${line}业务明细列表${line}`,
    billColumns,
    ...paid,
    ...refunded,
    `#${line}业务明细列表结束${line}`,
    `#交易合计：${paid.length}笔，商家实收共10.00元，商家优惠共0.00元`,
    `#退款合计：${refunded.length}笔，商家实收退款共-3.00元，商家优惠退款共0.00元`,
    `#导出时间：[${day} 10:00:00]`,
  ]
  const sums = [...head('业务汇总查询'), '门店编号,门店名称,交易订单总笔数', '合计\t,\t,2', '']
  const file = (title: string, rows: readonly string[]) => ({
    name: gbkOf(`20880000000000000156_${day.replaceAll('-', '')}_${title}.csv`),
    data: gbkOf(`${rows.join('\r\n')}\r\n`),
  })
  return zipOf([file('业务明细', list), file('业务明细(汇总)', sums)])
}
