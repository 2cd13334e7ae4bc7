/** WeChat Pay's bill of a day, as CSV. */
import { formatMinor } from '../../../src/lib/currency.ts'
import type { WechatOrder, WechatRefund } from './wechat-orders.ts'

const columns =
  '交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注'
const sumColumns =
  '总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额'

const yuan = (minor: bigint): string => formatMinor(minor, 'CNY')
const rowOf = (cells: readonly string[]): string => cells.map((cell) => `\`${cell}`).join(',')

/** `2026-11-30 10:00:00`, in Beijing. */
export function beijingText(at: number): string {
  const options = { timeZone: 'Asia/Shanghai', dateStyle: 'short', timeStyle: 'medium' } as const
  return new Intl.DateTimeFormat('sv-SE', options).format(at)
}

export function billRow(order: WechatOrder, refund: WechatRefund | null): string {
  const paid = refund === null
  const settled = paid ? yuan(order.amountMinor - order.couponMinor) : '0.00'
  return rowOf([
    beijingText(refund?.at ?? order.paidAt ?? 0),
    order.appid,
    order.mchid,
    '0',
    '',
    order.transaction,
    order.order,
    'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o',
    'NATIVE',
    paid ? 'SUCCESS' : 'REFUND',
    'OTHERS',
    order.currency,
    settled,
    paid ? yuan(order.couponMinor) : '0.00',
    refund?.reference ?? '0',
    refund?.number ?? '0',
    yuan(refund?.amountMinor ?? 0n),
    '0.00',
    paid ? '' : 'ORIGINAL',
    refund?.status ?? '',
    'Balance, recharged',
    '',
    paid ? '0.06000' : '-0.01000',
    '0.60%',
    paid ? yuan(order.amountMinor) : '0.00',
    yuan(refund?.amountMinor ?? 0n),
    '',
  ])
}

/** With the byte order mark; rows end as on Windows. */
export function billText(rows: readonly string[]): string {
  const sums = rowOf([String(rows.length), '10.00', '3.00', '0.00', '0.06000', '10.00', '3.00'])
  return `\u{feff}${[columns, ...rows, sumColumns, sums].join('\r\n')}\r\n`
}

/** null: nothing was paid or refunded on the day (`2026-11-30`). */
export function billOf(orders: Iterable<WechatOrder>, day: string): string | null {
  const isOfDay = (at: number): boolean => beijingText(at).startsWith(day)
  const rows: string[] = []
  for (const order of orders) {
    if (order.paidAt !== null && isOfDay(order.paidAt)) rows.push(billRow(order, null))
    for (const refund of order.refunds) if (isOfDay(refund.at)) rows.push(billRow(order, refund))
  }
  return rows.length === 0 ? null : billText(rows)
}
