/** Orders at WeChat Pay: the QR code of a native payment, and what a transaction's state means. */
import { createHash } from 'node:crypto'
import type { WechatClient } from './wechat-client.ts'
import type { WechatObject } from './wechat-object.ts'
import { ProviderError, type BegunOrder, type OrderReading, type ProviderOrder } from './payment-method.ts'

export const wechatCurrency = 'CNY'
export const unknownOrder = 'ORDER_NOT_EXIST'

const beijingOffsetMs = 8 * 3_600_000

/** `2026-11-30T10:00:00+08:00` */
export function beijingTimestamp(at: number): string {
  return `${new Date(at + beijingOffsetMs).toISOString().slice(0, 19)}+08:00`
}

/** An amount as WeChat Pay takes it. */
export function amountOf(amountMinor: bigint): number {
  return Number(amountMinor)
}

/** Identifies who receives the money. */
export function merchantName({ mchid, appid }: { readonly mchid: string; readonly appid: string }): string {
  return `${mchid}-${appid}`
}

/** Asks for the order with our number `id`. */
export function readOrder(client: WechatClient, id: string) {
  const path = `/v3/pay/transactions/out-trade-no/${id}?mchid=${client.settings.mchid}`
  return client.call({ method: 'GET', path })
}

export class WechatOrders {
  readonly #client: WechatClient

  constructor(client: WechatClient) {
    this.#client = client
  }

  /** Repeated, WeChat Pay responds with a fresh code of the same order. */
  async begin(order: ProviderOrder): Promise<BegunOrder> {
    const { appid, mchid } = this.#client.settings
    const { refusal, fields } = await this.#client.call({
      method: 'POST',
      path: '/v3/pay/transactions/native',
      body: {
        appid,
        mchid,
        description: order.description,
        out_trade_no: order.id,
        time_expire: beijingTimestamp(order.expiresAt),
        notify_url: order.noticeUrl,
        amount: { total: amountOf(order.amountMinor), currency: wechatCurrency },
      },
    })
    if (refusal === 'ORDERPAID') throw new ProviderError('The order is paid already.')
    if (refusal !== null) return { kind: 'refused', reason: `WeChat Pay refused the order (${refusal}).` }
    const qr = fields.text('code_url')
    if (qr === '') throw new ProviderError('WeChat Pay responded without a QR code.')
    return { kind: 'begun', reference: null, pay: { kind: 'qr', qr } }
  }

  async read(order: ProviderOrder): Promise<OrderReading> {
    const { refusal, fields } = await readOrder(this.#client, order.id)
    if (refusal === unknownOrder) return { state: 'unpaid' }
    if (refusal !== null) throw new ProviderError(`WeChat Pay refused to read the order (${refusal}).`)
    const state = fields.text('trade_state')
    // REFUND: it was paid, and some or all of it has gone back.
    if (state === 'SUCCESS' || state === 'REFUND') return { state: 'paid', payment: readPayment(fields) }
    // A response is signed without what was asked.
    if (fields.text('out_trade_no') !== order.id)
      throw new ProviderError('WeChat Pay responded with another order.')
    switch (state) {
      case 'NOTPAY':
      case 'USERPAYING':
      case 'PAYERROR':
        return { state: 'unpaid' }
      case 'CLOSED':
      case 'REVOKED':
        return { state: 'closed' }
      default:
        throw new ProviderError('WeChat Pay stated an unknown state of the order.')
    }
  }

  async close(order: ProviderOrder): Promise<'closed' | 'paid'> {
    const { refusal } = await this.#client.call({
      method: 'POST',
      path: `/v3/pay/transactions/out-trade-no/${order.id}/close`,
      body: { mchid: this.#client.settings.mchid },
    })
    // An order that WeChat Pay never heard of has no code that somebody could pay.
    if (refusal === null || refusal === unknownOrder) return 'closed'
    if (refusal === 'ORDERPAID') return 'paid'
    const { state } = await this.read(order)
    if (state === 'paid' || state === 'closed') return state
    throw new ProviderError(`WeChat Pay refused to close the order (${refusal}).`)
  }
}

function readPayment(fields: WechatObject) {
  const amount = fields.object('amount')
  // `payer_total` is less with coupons.
  const amountMinor = amount?.minor('total') ?? null
  const transaction = fields.text('transaction_id')
  if (amount === null || amountMinor === null || transaction === '')
    throw new ProviderError('WeChat Pay stated no amount or no number of the payment.')
  const payer = fields.object('payer')?.text('openid') ?? ''
  const paidAt = Date.parse(fields.text('success_time'))
  return {
    order: fields.text('out_trade_no'),
    merchant: merchantName({ mchid: fields.text('mchid'), appid: fields.text('appid') }),
    currency: amount.text('currency') || wechatCurrency,
    amountMinor,
    transaction,
    paidAt: Number.isNaN(paidAt) ? null : paidAt,
    payer: payer === '' ? null : createHash('sha256').update(payer).digest('hex'),
    savedCard: null,
  }
}
