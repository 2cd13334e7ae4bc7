/** Payments by Stripe: its hosted Checkout page, saved cards, refunds and disputes. Source: https://docs.stripe.com/api */
import { isCurrency } from '../lib/currency.ts'
import { splitList } from '../lib/setting-types.ts'
import { ConfigError } from '../lib/settings.ts'
import { problemOf, type DisputeFacts, type PaymentMethod } from './payment-method.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { requireHttps, requireTogether } from './required-settings.ts'
import { movedBy, stripeStepOf } from './stripe-amounts.ts'
import { StripeBills } from './stripe-bills.ts'
import { StripeCards } from './stripe-cards.ts'
import { StripeClient } from './stripe-client.ts'
import { StripeNotices } from './stripe-notices.ts'
import { chargeToExpand, merchantOf, StripeOrders } from './stripe-orders.ts'
import { StripeRefunds } from './stripe-refunds.ts'

/** Stripe takes 30 minutes to 24 hours, counted from when the call arrives there. */
const minLifetimeMs = 35 * 60_000
const maxLifetimeMs = 1435 * 60_000

interface StripeSettings {
  readonly secretKey: string
  readonly webhookSecrets: readonly string[]
  readonly merchant: 'live' | 'test'
  readonly currency: string
  readonly base: string
}

function readSettings({ config, currency: platform }: PaymentMethodDeps): StripeSettings | null {
  const secrets = {
    STRIPE_SECRET_KEY: config.stripeSecretKey,
    STRIPE_WEBHOOK_SECRET: config.stripeWebhookSecret,
  }
  const values = requireTogether(secrets, config, 'stripe')
  if (values === null) return null
  const invalid = (name: string, rule: string): never => {
    throw new ConfigError([`Invalid ${name}: ${rule}`])
  }
  const [, merchant] = /^(?:sk|rk)_(live|test)_\S+$/.exec(values.STRIPE_SECRET_KEY) ?? []
  if (merchant !== 'live' && merchant !== 'test') {
    return invalid('STRIPE_SECRET_KEY', 'must begin with sk_live_, sk_test_, rk_live_ or rk_test_')
  }
  const webhookSecrets = splitList(values.STRIPE_WEBHOOK_SECRET)
  if (webhookSecrets.length === 0 || !webhookSecrets.every((secret) => /^whsec_\S+$/.test(secret))) {
    invalid('STRIPE_WEBHOOK_SECRET', 'each secret must begin with whsec_')
  }
  const { stripeLive } = config
  if (stripeLive !== null && stripeLive !== '0' && stripeLive !== '1')
    invalid('STRIPE_LIVE', 'must be 1 or 0')
  if (stripeLive !== null && (stripeLive === '1') !== (merchant === 'live')) {
    invalid('STRIPE_LIVE', `STRIPE_SECRET_KEY is a key of ${merchant} mode`)
  }
  const currency = config.stripeCurrency ?? platform
  if (!isCurrency(currency)) invalid('STRIPE_CURRENCY', 'must be an ISO 4217 code such as USD')
  const base = config.stripeBase
  if (!['', '/'].includes(new URL(base).pathname)) invalid('STRIPE_BASE', 'must have no path')
  requireHttps({ STRIPE_BASE: base }, config.paymentAllow)
  return { secretKey: values.STRIPE_SECRET_KEY, webhookSecrets, merchant, currency, base }
}

/** null: not configured. Throws a `ConfigError` that names the setting that is missing or wrong. */
export function createStripe(deps: PaymentMethodDeps): PaymentMethod | null {
  const { http, now } = deps
  const settings = readSettings(deps)
  if (settings === null) return null
  const client = new StripeClient({ secretKey: settings.secretKey, base: settings.base, http })
  const orders = new StripeOrders(client, now)
  const refunds = new StripeRefunds(client)
  return {
    name: 'stripe',
    merchant: settings.merchant,
    currency: settings.currency,
    products: [],
    amountStep: stripeStepOf,
    lifetimeMs: (configuredMs) => Math.min(Math.max(configuredMs, minLifetimeMs), maxLifetimeMs),
    begin: async (order) => await orders.begin(order),
    read: async (order) => await orders.read(order),
    close: async (order) => await orders.close(order),
    refund: async (refund) => await refunds.refund(refund),
    readRefund: async (refund) => await refunds.readRefund(refund),
    check: () => problemOf(() => check(client, settings.merchant)),
    notices: new StripeNotices(client, settings.webhookSecrets),
    bills: new StripeBills(client),
    savedCards: new StripeCards(client, now),
    readDispute: async (reference) => await readDispute(client, reference),
    readNamedRefund: async (named) => await refunds.readNamed(named),
  }
}

/** Reads one object of each kind that is read later: a restricted key may lack permissions. */
async function check(client: StripeClient, merchant: string): Promise<string | null> {
  const limit = 1
  const balance = await client.call(async (stripe) => await stripe.balance.retrieve())
  if (merchantOf(balance) !== merchant) return 'The secret key is one of the other mode (live or test).'
  await client.call(async (stripe) => {
    await stripe.checkout.sessions.list({ limit })
    await stripe.paymentIntents.list({ limit, expand: [`data.${chargeToExpand}`] })
    await stripe.refunds.list({ limit })
    await stripe.disputes.list({ limit })
    await stripe.balanceTransactions.list({ limit })
  })
  return null
}

async function readDispute(client: StripeClient, reference: string): Promise<DisputeFacts> {
  const dispute = await client.call(async (stripe) => await stripe.disputes.retrieve(reference))
  return { reference: dispute.id, ...movedBy(dispute), state: disputeState(dispute.status) }
}

/** An inquiry that is closed, and a dispute that was prevented, took no money. */
function disputeState(status: string): DisputeFacts['state'] {
  if (status === 'lost') return 'lost'
  return ['won', 'warning_closed', 'prevented'].includes(status) ? 'won' : 'open'
}
