/** Alipay by its gateway: the payment page and QR codes, in public-key or certificate mode. */
import { alipayBills } from './alipay-bills.ts'
import { AlipayClient } from './alipay-client.ts'
import { alipayNotices } from './alipay-notices.ts'
import { AlipayOrders, alipayCurrency, unknownTrade } from './alipay-orders.ts'
import { readNamedRefund, readRefund, sendRefund } from './alipay-refunds.ts'
import { readAlipaySettings } from './alipay-settings.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { problemOf, type PaymentMethod } from './payment-method.ts'

/** Valid as a number, and never given to an order. */
const noOrder = `S${'0'.repeat(26)}`
/** Alipay's QR codes can be scanned for so long. Its page has no such limit. */
const maxQrLifetimeMs = 2 * 3_600_000

/** null: not configured. Throws a `ConfigError` if it is half configured. */
export function createAlipay(deps: PaymentMethodDeps): PaymentMethod | null {
  const settings = readAlipaySettings(deps.config)
  if (settings === null) return null
  const client = new AlipayClient(settings, deps)
  const merchant = `${settings.sellerId}-${settings.appId}`
  const orders = new AlipayOrders(client, merchant)
  return {
    name: 'alipay',
    merchant,
    currency: alipayCurrency,
    products: settings.products,
    lifetimeMs: (configuredMs, product) =>
      product === 'qr' ? Math.min(configuredMs, maxQrLifetimeMs) : configuredMs,
    begin: (order) => orders.begin(order),
    read: (order) => orders.read(order),
    close: (order) => orders.close(order),
    refund: (refund) => sendRefund(client, refund),
    readRefund: (refund) => readRefund(client, refund),
    readNamedRefund: (named) => readNamedRefund(client, named),
    check: () => problemOf(() => check(client)),
    notices: alipayNotices(settings),
    bills: alipayBills(client, deps),
  }
}

/** Reads an order that does not exist: that Alipay says so, with its signature, shows that the keys are right. */
async function check(client: AlipayClient): Promise<string | null> {
  const { refusal } = await client.call('alipay.trade.query', { out_trade_no: noOrder })
  return refusal === unknownTrade ? null : `Alipay responded with ${refusal ?? 'an unknown order'}.`
}
