/** Version 2 of epay: RSA over requests, responses and notices, each with its time. */
import { formatMinor } from '../lib/currency.ts'
import { readingOf } from './epay-orders.ts'
import type { EpaySettings } from './epay-settings.ts'
import type { EpayFields } from './epay-signature.ts'
import { isNotFound, textOf, type EpayRow, type EpaySite } from './epay-site.ts'
import { orderFields, type EpayVersion } from './epay-version.ts'
import type {
  BegunOrder,
  OrderReading,
  PayInstruction,
  ProviderOrder,
  ProviderRefund,
  RefundReading,
} from './payment-method.ts'

export const maxClockDifferenceMs = 300_000

const pageSize = 50

/** The scalar fields of a response; PHP, in which sites are written, signs `true` as `1` and `false` as nothing. */
function scalarFields(row: EpayRow): EpayFields {
  const scalars = Object.entries(row).filter(([, value]) => typeof value === 'string' || value === true)
  return Object.fromEntries(scalars.map(([name, value]) => [name, value === true ? '1' : String(value)]))
}

export class EpayV2 implements EpayVersion {
  readonly #site: EpaySite
  readonly #settings: EpaySettings
  readonly #now: () => number
  readonly needsTimestamp = true

  constructor(site: EpaySite, settings: EpaySettings, now: () => number) {
    this.#site = site
    this.#settings = settings
    this.#now = now
  }

  /**
   * The site's response. One with code 0 is signed and new; errors come unsigned: they prove nothing except that the call
   * was not carried out as asked.
   */
  async #call(path: string, fields: EpayFields): Promise<EpayRow> {
    const { pid, signer } = this.#settings
    const unsigned = { ...fields, pid, timestamp: String(Math.floor(this.#now() / 1000)) }
    const row = await this.#site.call('POST', path, {
      ...unsigned,
      sign: signer.sign(unsigned),
      sign_type: signer.type,
    })
    if (textOf(row, 'code') !== '0') return row
    const { sign: signature = '', timestamp = '', ...signed } = scalarFields(row)
    if (!signer.verify({ ...signed, timestamp }, signature))
      throw this.#site.error('signed its response with another key than EPAY_PUBLIC_KEY, or not at all')
    const at = /^\d{10}$/.test(timestamp) ? Number(timestamp) * 1000 : Number.NaN
    if (!(Math.abs(this.#now() - at) <= maxClockDifferenceMs))
      throw this.#site.error('dated its response more than five minutes off: compare the clocks')
    return row
  }

  async begin(order: ProviderOrder): Promise<BegunOrder> {
    const fields = { ...orderFields(this.#settings, order), clientip: '127.0.0.1', device: 'pc' }
    for (const method of ['web', 'jump']) {
      const row = await this.#call('api/pay/create', { ...fields, method })
      if (textOf(row, 'code') !== '0') return await this.#refused(order, row)
      const pay = this.#instructionOf(row)
      if (pay !== null) return { kind: 'begun', reference: textOf(row, 'trade_no') || null, pay }
    }
    throw this.#site.error('responded with no code and no page to pay')
  }

  /** null: what the site responded with cannot be shown here, above all `html`; its page can. */
  #instructionOf(row: EpayRow): PayInstruction | null {
    const info = textOf(row, 'pay_info')
    switch (textOf(row, 'pay_type')) {
      case 'qrcode':
        return this.#site.instructionOf('qr', info)
      case 'jump':
      case 'urlscheme':
        return this.#site.instructionOf('redirect', info)
      default:
        return null
    }
  }

  /** Sites refuse to begin an order again that was paid in between: then a page of the console reads its state. */
  async #refused(order: ProviderOrder, row: EpayRow): Promise<BegunOrder> {
    const { state } = await this.read(order)
    if (state === 'unpaid') return { kind: 'refused', reason: this.#site.reasonOf(row) }
    return { kind: 'begun', reference: null, pay: { kind: 'redirect', url: order.returnUrl } }
  }

  async read(order: ProviderOrder): Promise<OrderReading> {
    const row = await this.#call('api/pay/query', { out_trade_no: order.id })
    if (textOf(row, 'code') === '0') {
      // Arrays and objects are not part of what is signed.
      const signed = scalarFields(row)
      return readingOf({ site: this.#site, pid: this.#settings.pid }, signed, order)
    }
    // Unsigned. Nothing is given or taken by it: a payment that the site learns of later is credited all the same.
    if (isNotFound(row)) return { state: 'unpaid' }
    throw this.#site.error('did not respond to the query of an order')
  }

  async close(order: ProviderOrder): Promise<'closed' | 'paid' | 'unsupported'> {
    const row = await this.#call('api/pay/close', { out_trade_no: order.id })
    if (textOf(row, 'code') === '0') return 'closed'
    return (await this.read(order)).state === 'unpaid' ? 'unsupported' : 'paid'
  }

  /** The response to the refund counts for nothing; the query of the refund does. */
  async refund(refund: ProviderRefund): Promise<RefundReading> {
    const { order, amountMinor } = refund
    const row = await this.#call('api/pay/refund', {
      out_trade_no: order.id,
      trade_no: order.transaction ?? '',
      out_refund_no: refund.id,
      money: formatMinor(amountMinor, order.currency),
    })
    const reading = await this.readRefund(refund)
    if (reading.state !== 'absent') return reading
    if (textOf(row, 'code') === '0') return { state: 'sent', reference: null }
    return { state: 'refused', reason: this.#site.reasonOf(row) }
  }

  async readRefund({ id, amountMinor }: ProviderRefund): Promise<RefundReading> {
    const row = await this.#call('api/pay/refundquery', { out_refund_no: id })
    if (textOf(row, 'code') !== '0') {
      if (isNotFound(row)) return { state: 'absent' }
      throw this.#site.error('did not respond to the query of a refund')
    }
    if (textOf(row, 'out_refund_no') !== id) throw this.#site.error('stated another refund')
    const reference = textOf(row, 'refund_no') || null
    const status = textOf(row, 'status')
    if (status === '0') return { state: 'sent', reference }
    const isSameAmount = textOf(row, 'money') === '' || this.#site.minorOf(row) === amountMinor
    if (status === '1' && isSameAmount) return { state: 'done', reference }
    return { state: 'unclear', reason: `${this.#site.name} states another amount or an unknown state.` }
  }

  async check(): Promise<string | null> {
    const row = await this.#call('api/merchant/orders', { offset: '0', limit: '1' })
    if (textOf(row, 'code') === '0') return null
    return `${this.#site.name} rejects EPAY_PID or EPAY_PRIVATE_KEY.`
  }

  async listOrders(_page: number, seen: number): Promise<readonly unknown[]> {
    const row = await this.#call('api/merchant/orders', { offset: String(seen), limit: String(pageSize) })
    if (textOf(row, 'code') === '0' && Array.isArray(row['data'])) return row['data'] as unknown[]
    if (isNotFound(row)) return []
    throw this.#site.error('did not respond to the query of its list')
  }
}
