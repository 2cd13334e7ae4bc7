/** Payments by epay (易支付), a protocol that many sites of unequal care offer: nothing counts before the site confirms it. */
import { EpayBills } from './epay-bills.ts'
import { EpayNotices } from './epay-notices.ts'
import { merchantName } from './epay-orders.ts'
import { readEpaySettings, type EpaySettings } from './epay-settings.ts'
import { EpaySite, epayCurrency } from './epay-site.ts'
import { EpayV1 } from './epay-v1.ts'
import { EpayV2 } from './epay-v2.ts'
import type { EpayVersion } from './epay-version.ts'
import { problemOf, ProviderError, type PaymentFacts, type PaymentMethod } from './payment-method.ts'
import type { PaymentMethodDeps } from './method-deps.ts'

/** Payments by notice alone that are remembered until they are settled; then the site's notice ends. */
const maxTrusted = 10_000

/** null: not configured. Throws a `ConfigError` that names the setting that is missing or wrong. */
export function createEpay({ config, http, now }: PaymentMethodDeps): PaymentMethod | null {
  const settings = readEpaySettings(config)
  if (settings === null) return null
  const site = new EpaySite(settings.base, http)
  const merchant = { site, pid: settings.pid }
  const version = versionOf(settings, site, now)
  const trusted = new Map<string, PaymentFacts>()
  return {
    name: 'epay',
    merchant: merchantName(merchant),
    currency: epayCurrency,
    products: settings.types,
    lifetimeMs: (configuredMs) => configuredMs,
    begin: (order) => version.begin(order),
    async read(order) {
      const payment = trusted.get(order.id)
      if (payment !== undefined) return { state: 'paid', payment }
      try {
        return await version.read(order)
      } catch (error) {
        // Where the query does not work, only a notice says that an order is paid; without one, it ends in time.
        if (config.epayTrustNotice && error instanceof ProviderError) return { state: 'unpaid' }
        throw error
      }
    },
    close: (order) => version.close(order),
    refund: (refund) => version.refund(refund),
    readRefund: (refund) => version.readRefund(refund),
    check: () => problemOf(() => version.check()),
    notices: new EpayNotices({
      ...merchant,
      signer: settings.signer,
      needsTimestamp: version.needsTimestamp,
      types: settings.types,
      onPayment(payment) {
        if (!settings.trustsNotice) return
        trusted.set(payment.order, payment)
        const [first] = trusted.keys()
        if (trusted.size > maxTrusted && first !== undefined) trusted.delete(first)
      },
    }),
    bills: new EpayBills(site, version),
  }
}

function versionOf(settings: EpaySettings, site: EpaySite, now: () => number): EpayVersion {
  const { key } = settings
  return key === null ? new EpayV2(site, settings, now) : new EpayV1(site, { ...settings, key })
}
