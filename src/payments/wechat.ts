/** WeChat Pay, API v3, by QR code (Native), with its public keys, its platform certificates, or both at once. */
import type { PaymentMethodDeps } from './method-deps.ts'
import { problemOf, type PaymentMethod } from './payment-method.ts'
import { wechatBills } from './wechat-bills.ts'
import { WechatClient } from './wechat-client.ts'
import { wechatNotices } from './wechat-notices.ts'
import { merchantName, readOrder, unknownOrder, WechatOrders, wechatCurrency } from './wechat-orders.ts'
import { readNamedRefund, readRefund, sendRefund } from './wechat-refunds.ts'
import { readWechatSettings } from './wechat-settings.ts'

/** Valid as a number, and never given to an order. */
const noOrder = `S${'0'.repeat(26)}`
/** A code lives so long. */
const maxLifetimeMs = 2 * 3_600_000

/** null: not configured. Throws a `ConfigError` if it is half configured. */
export function createWechat(deps: PaymentMethodDeps): PaymentMethod | null {
  const settings = readWechatSettings(deps.config)
  if (settings === null) return null
  const client = new WechatClient(settings, deps)
  const orders = new WechatOrders(client)
  return {
    name: 'wechat',
    merchant: merchantName(settings),
    currency: wechatCurrency,
    products: [],
    lifetimeMs: (configuredMs) => Math.min(configuredMs, maxLifetimeMs),
    begin: (order) => orders.begin(order),
    read: (order) => orders.read(order),
    close: (order) => orders.close(order),
    refund: (refund) => sendRefund(client, refund),
    readRefund: (refund) => readRefund(client, refund),
    readNamedRefund: (named) => readNamedRefund(client, named),
    check: () => problemOf(() => check(client)),
    notices: wechatNotices(client),
    bills: wechatBills(client, deps),
  }
}

/** Reads an order that does not exist: that WeChat Pay says so, with its signature, shows that the keys are right. */
async function check(client: WechatClient): Promise<string | null> {
  const { refusal } = await readOrder(client, noOrder)
  return refusal === unknownOrder ? null : `WeChat Pay responded with ${refusal ?? 'an unknown order'}.`
}
