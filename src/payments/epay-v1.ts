/** Version 1 of epay: MD5 over requests and notices; responses are unsigned, so https is what vouches for them. */
import type { EpaySettings } from './epay-settings.ts'
import type { EpayFields } from './epay-signature.ts'
import { readingOf } from './epay-orders.ts'
import { isNotFound, textOf, type EpayRow, type EpaySite } from './epay-site.ts'
import { orderFields, type EpayVersion } from './epay-version.ts'
import { formatMinor } from '../lib/currency.ts'
import {
  ProviderError,
  type BegunOrder,
  type OrderReading,
  type ProviderOrder,
  type ProviderRefund,
  type RefundReading,
} from './payment-method.ts'

const pageSize = 50

export class EpayV1 implements EpayVersion {
  readonly #site: EpaySite
  readonly #settings: EpaySettings
  readonly #credentials: EpayFields
  readonly needsTimestamp = false

  constructor(site: EpaySite, settings: EpaySettings & { readonly key: string }) {
    this.#site = site
    this.#settings = settings
    this.#credentials = { pid: settings.pid, key: settings.key }
  }

  /** With a type, the site is asked, and responds with a code or a page; its own chooser is a signed link. */
  async begin(order: ProviderOrder): Promise<BegunOrder> {
    const fields = orderFields(this.#settings, order)
    const page = { kind: 'redirect', url: this.#site.url('submit.php', this.#sign(fields)) } as const
    if (order.product === null) return { kind: 'begun', reference: null, pay: page }
    const response = await this.#site.request(
      'POST',
      'mapi.php',
      this.#sign({ ...fields, clientip: '127.0.0.1', device: 'pc' }),
    )
    // Sites without the call have the page.
    if ([404, 405].includes(response.status)) return { kind: 'begun', reference: null, pay: page }
    const row = this.#site.parse(response)
    if (textOf(row, 'code') !== '1') return await this.#refused(order, row)
    const pay =
      this.#site.instructionOf('qr', textOf(row, 'qrcode')) ??
      this.#site.instructionOf('redirect', textOf(row, 'payurl')) ??
      this.#site.instructionOf('redirect', textOf(row, 'urlscheme')) ??
      page
    return { kind: 'begun', reference: textOf(row, 'trade_no') || null, pay }
  }

  /** Sites refuse to begin an order again that was paid in between. */
  async #refused(order: ProviderOrder, row: EpayRow): Promise<BegunOrder> {
    const isUnpaid = this.#settings.trustsNotice || (await this.read(order)).state === 'unpaid'
    if (isUnpaid) return { kind: 'refused', reason: this.#site.reasonOf(row, this.#settings.key) }
    const fields = this.#sign(orderFields(this.#settings, order))
    return {
      kind: 'begun',
      reference: null,
      pay: { kind: 'redirect', url: this.#site.url('submit.php', fields) },
    }
  }

  #sign(fields: EpayFields): EpayFields {
    const { signer } = this.#settings
    return { ...fields, sign: signer.sign(fields), sign_type: signer.type }
  }

  async read(order: ProviderOrder): Promise<OrderReading> {
    const row = await this.#get('order', { out_trade_no: order.id })
    if (textOf(row, 'code') !== '1') {
      if (isNotFound(row)) return { state: 'unpaid' }
      throw this.#site.error('did not respond to the query of an order')
    }
    return readingOf({ site: this.#site, pid: this.#settings.pid }, row, order)
  }

  #get(act: string, fields: EpayFields): Promise<EpayRow> {
    return this.#site.call('GET', 'api.php', { act, ...this.#credentials, ...fields })
  }

  close(): Promise<'unsupported'> {
    return Promise.resolve('unsupported')
  }

  /**
   * The site knows no number of ours: what is not clearly done or refused may have been done, and asking again could
   * refund twice.
   */
  async refund({ order, amountMinor }: ProviderRefund): Promise<RefundReading> {
    const fields = {
      ...this.#credentials,
      trade_no: order.transaction ?? '',
      out_trade_no: order.id,
      money: formatMinor(amountMinor, order.currency),
    }
    try {
      const row = await this.#site.call('POST', 'api.php?act=refund', fields)
      if (textOf(row, 'code') === '1') return { state: 'done', reference: null }
      const reason = this.#site.reasonOf(row, this.#settings.key)
      const isRefused = /^-\d+$/.test(textOf(row, 'code')) && !/成功|success/i.test(textOf(row, 'msg'))
      return { state: isRefused ? 'refused' : 'unclear', reason }
    } catch (error) {
      if (error instanceof ProviderError) return { state: 'unclear', reason: error.message }
      throw error
    }
  }

  readRefund(): Promise<RefundReading> {
    const reason = `${this.#site.name} cannot be asked about refunds: look there whether it was made.`
    return Promise.resolve({ state: 'unclear', reason })
  }

  async check(): Promise<string | null> {
    const site = this.#site
    const row = await this.#get('query', {})
    const statedKey = textOf(row, 'key')
    const isKnown = textOf(row, 'code') === '1' && textOf(row, 'pid') === this.#settings.pid
    if (!isKnown || (statedKey !== '' && statedKey !== this.#settings.key))
      return `${site.name} rejects EPAY_PID or EPAY_KEY.`
    if (textOf(row, 'active') === '0') return `${site.name} has disabled the merchant.`
    if (this.#settings.trustsNotice || isNotFound(await this.#get('order', { out_trade_no: 'S0' })))
      return null
    return `The query of orders of ${site.name} does not work, so that no payment can be confirmed.`
  }

  async listOrders(page: number): Promise<readonly unknown[]> {
    const row = await this.#get('orders', { limit: String(pageSize), page: String(page + 1) })
    if (textOf(row, 'code') === '1' && Array.isArray(row['data'])) return row['data'] as unknown[]
    if (isNotFound(row)) return []
    throw this.#site.error('did not respond to the query of its list')
  }
}
