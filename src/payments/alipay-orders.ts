/** Orders at Alipay: its payment page, its QR code, and what a trade's state means. */
import { createHash } from 'node:crypto'
import { formatMinor, parseMinor } from '../lib/currency.ts'
import { beijingTime, parseBeijingTime, type AlipayClient, type AlipayResult } from './alipay-client.ts'
import { ProviderError, type BegunOrder, type OrderReading, type ProviderOrder } from './payment-method.ts'

export const alipayCurrency = 'CNY'
export const unknownTrade = 'ACQ.TRADE_NOT_EXIST'

/** The contract of the QR code today, and the older one. Only a call shows which one an app has. */
const qrProducts = ['QR_CODE_OFFLINE', 'FACE_TO_FACE_PAYMENT']

/** Minor units of an amount that Alipay states. Throws a `ProviderError` if it is not exact. */
export function readAmount(text: string, currency = alipayCurrency): bigint {
  try {
    return parseMinor(text, currency)
  } catch {
    throw new ProviderError('Alipay stated an amount that cannot be read.')
  }
}

export class AlipayOrders {
  readonly #client: AlipayClient
  readonly #merchant: string

  constructor(client: AlipayClient, merchant: string) {
    this.#client = client
    this.#merchant = merchant
  }

  async begin(order: ProviderOrder): Promise<BegunOrder> {
    const product = order.product ?? this.#client.settings.products[0]
    return product === 'page' ? this.#beginPage(order) : await this.#beginQr(order)
  }

  /** A signed link: Alipay learns of the order when the payer opens it. */
  #beginPage(order: ProviderOrder): BegunOrder {
    const url = new URL(this.#client.settings.base)
    url.search = this.#client
      .sign('alipay.trade.page.pay', contentOf(order, 'FAST_INSTANT_TRADE_PAY'), {
        ...noticeTo(order),
        return_url: order.returnUrl,
      })
      .toString()
    return { kind: 'begun', reference: null, pay: { kind: 'redirect', url: url.href } }
  }

  async #beginQr(order: ProviderOrder): Promise<BegunOrder> {
    let refusal = ''
    for (const product of qrProducts) {
      const result = await this.#client.call(
        'alipay.trade.precreate',
        contentOf(order, product),
        noticeTo(order),
      )
      if (result.refusal === null) return begunQr(order, result)
      refusal = result.refusal
      // Without the contract for this product, the other one may be there.
      if (refusal !== 'ACQ.ACCESS_FORBIDDEN') break
    }
    if (refusal === 'ACQ.TRADE_HAS_SUCCESS') throw new ProviderError('The order is paid already.')
    return { kind: 'refused', reason: `Alipay refused the order (${refusal}).` }
  }

  async read(order: ProviderOrder): Promise<OrderReading> {
    const result = await this.#client.call('alipay.trade.query', { out_trade_no: order.id })
    if (result.refusal === unknownTrade) return { state: 'unpaid' }
    if (result.refusal !== null)
      throw new ProviderError(`Alipay refused to read the order (${result.refusal}).`)
    switch (result.text('trade_status')) {
      case 'WAIT_BUYER_PAY':
        return { state: 'unpaid' }
      // After the time for refunds, the same payment is FINISHED.
      case 'TRADE_SUCCESS':
      case 'TRADE_FINISHED':
        return this.#paid(result)
      case 'TRADE_CLOSED':
        return { state: 'closed' }
      default:
        throw new ProviderError('Alipay stated an unknown state of the order.')
    }
  }

  #paid(result: AlipayResult): OrderReading {
    const transaction = result.text('trade_no')
    if (transaction === '') throw new ProviderError('Alipay stated no number of the payment.')
    const currency = result.text('trans_currency') || alipayCurrency
    const payer = result.text('buyer_user_id') || result.text('buyer_open_id')
    return {
      state: 'paid',
      payment: {
        order: result.text('out_trade_no'),
        merchant: this.#merchant,
        currency,
        // `receipt_amount` and `buyer_pay_amount` are less with coupons.
        amountMinor: readAmount(result.text('total_amount'), currency),
        transaction,
        paidAt: parseBeijingTime(result.text('send_pay_date')),
        payer: payer === '' ? null : createHash('sha256').update(payer).digest('hex'),
        savedCard: null,
      },
    }
  }

  async close(order: ProviderOrder): Promise<'closed' | 'paid'> {
    const { refusal } = await this.#client.call('alipay.trade.close', { out_trade_no: order.id })
    // A trade that nobody has scanned does not exist; its link ends with the order.
    if (refusal === null || refusal === unknownTrade) return 'closed'
    const { state } = await this.read(order)
    if (state === 'paid' || state === 'closed') return state
    throw new ProviderError(`Alipay refused to close the order (${refusal}).`)
  }
}

function noticeTo({ noticeUrl }: ProviderOrder): Record<string, string> {
  return noticeUrl === null ? {} : { notify_url: noticeUrl }
}

function contentOf(order: ProviderOrder, product: string) {
  return {
    out_trade_no: order.id,
    total_amount: formatMinor(order.amountMinor, alipayCurrency),
    subject: order.description,
    product_code: product,
    time_expire: beijingTime(order.expiresAt),
  }
}

function begunQr(order: ProviderOrder, result: AlipayResult): BegunOrder {
  const qr = result.text('qr_code')
  if (qr === '' || result.text('out_trade_no') !== order.id)
    throw new ProviderError('Alipay responded without a QR code of the order.')
  return { kind: 'begun', reference: null, pay: { kind: 'qr', qr } }
}
