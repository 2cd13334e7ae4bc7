/** The scripted WeChat Pay without HTTP: its orders and refunds. */
import { randomInt } from 'node:crypto'

import type { GenuinePayment, PaymentChanges } from './scripted-provider.ts'

export interface WechatRefund {
  readonly number: string
  readonly reference: string
  readonly amountMinor: bigint
  readonly at: number
  status: 'PROCESSING' | 'SUCCESS' | 'ABNORMAL' | 'CLOSED'
}

export interface WechatOrder {
  readonly order: string
  readonly noticeUrl: string | null
  readonly refunds: WechatRefund[]
  transaction: string
  amountMinor: bigint
  couponMinor: bigint
  currency: string
  mchid: string
  appid: string
  state: string
  paidAt: number | null
}

/** A response of WeChat Pay that refuses a call. */
export class RefusedCallError extends Error {
  readonly status: number

  constructor(status: number, code: string) {
    super(code)
    this.status = status
  }
}

/** The connection ends without a response. */
export class NoResponseError extends Error {}

export const mchid = '1900000001'
export const appid = 'wxd678efh567hg6787'

/** WeChat Pay's numbers have 28 digits. */
const newNumber = (prefix: string): string => `${prefix}${randomInt(10 ** 14)}`.padEnd(28, '0')

export class WechatOrders {
  readonly all = new Map<string, WechatOrder>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Repeated, it finds what it began. */
  begin(order: string, amountMinor: bigint, noticeUrl: string | null): WechatOrder {
    const known = this.all.get(order)
    if (known?.state === 'CLOSED') throw new RefusedCallError(400, 'ORDER_CLOSED')
    if (known !== undefined && known.paidAt !== null) throw new RefusedCallError(400, 'ORDERPAID')
    if (known !== undefined && known.amountMinor !== amountMinor)
      throw new RefusedCallError(403, 'OUT_TRADE_NO_USED')
    const begun: WechatOrder = known ?? {
      order,
      noticeUrl,
      refunds: [],
      transaction: newNumber('42000021'),
      amountMinor,
      couponMinor: 0n,
      currency: 'CNY',
      mchid,
      appid,
      state: 'NOTPAY',
      paidAt: null,
    }
    this.all.set(order, begun)
    return begun
  }

  /** By WeChat Pay's number or the merchant's. */
  find(name: string): WechatOrder {
    const order = this.all.get(name) ?? [...this.all.values()].find(({ transaction }) => transaction === name)
    if (order === undefined) throw new RefusedCallError(404, 'ORDER_NOT_EXIST')
    return order
  }

  pay(name: string, changes: PaymentChanges): WechatOrder {
    const begun = this.all.get(name)
    const amountMinor = changes.amountMinor ?? begun?.amountMinor
    if (amountMinor === undefined) throw new Error(`WeChat Pay knows no order ${name}`)
    const order = begun ?? this.begin(name, amountMinor, null)
    return Object.assign(order, {
      amountMinor,
      couponMinor: changes.couponMinor ?? 0n,
      currency: changes.currency ?? 'CNY',
      mchid: changes.merchant ?? mchid,
      transaction: changes.transaction ?? order.transaction,
      state: 'SUCCESS',
      paidAt: this.#now(),
    })
  }

  close(order: WechatOrder): void {
    if (order.paidAt !== null) throw new RefusedCallError(400, 'ORDERPAID')
    order.state = 'CLOSED'
  }

  /** Not again under the same number. */
  refund(name: string, wanted: Pick<WechatRefund, 'number' | 'amountMinor' | 'status'>): WechatRefund {
    const order = this.all.get(name) ?? [...this.all.values()].find(({ transaction }) => transaction === name)
    if (order === undefined || order.paidAt === null) throw new RefusedCallError(404, 'RESOURCE_NOT_EXISTS')
    const known = order.refunds.find(({ number }) => number === wanted.number)
    if (known !== undefined && known.amountMinor !== wanted.amountMinor)
      throw new RefusedCallError(400, 'INVALID_REQUEST')
    if (known !== undefined) return known
    if (wanted.amountMinor > order.amountMinor - refundedOf(order))
      throw new RefusedCallError(400, 'INVALID_REQUEST')
    const refund = { ...wanted, reference: newNumber('50300407'), at: this.#now() }
    order.refunds.push(refund)
    order.state = 'REFUND'
    return refund
  }

  /** `name`: the merchant's number, or WeChat Pay's. */
  findRefund(name: string): readonly [WechatOrder, WechatRefund] {
    for (const order of this.all.values()) {
      const refund = order.refunds.find(({ number, reference }) => [number, reference].includes(name))
      if (refund !== undefined) return [order, refund]
    }
    throw new RefusedCallError(404, 'RESOURCE_NOT_EXISTS')
  }

  get payments(): GenuinePayment[] {
    return [...this.all.values()]
      .filter(({ paidAt }) => paidAt !== null)
      .map((order) => ({
        order: order.order,
        transaction: order.transaction,
        amountMinor: order.amountMinor,
        refundedMinor: refundedOf(order),
      }))
  }
}

export function refundedOf({ refunds }: WechatOrder): bigint {
  return refunds
    .filter(({ status }) => status === 'SUCCESS' || status === 'PROCESSING')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
}
