/** The payment methods that are configured, in the order of `PAYMENT_METHODS`. */
import { minorDigitsOf } from '../lib/currency.ts'
import { parseAmount } from '../lib/money.ts'
import { ConfigError } from '../lib/settings.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { methodNames, type MethodName, type PaymentMethod } from './payment-method.ts'
import { requireHttps, settingsOfMethod } from './required-settings.ts'

/** null: not configured. Throws a `ConfigError` naming the setting that is missing if it is half configured. */
type MethodFactory = (deps: PaymentMethodDeps) => PaymentMethod | null

/** One line per method. A relay loads only those that its settings name. */
const loaders: Readonly<Record<MethodName, () => Promise<MethodFactory>>> = {
  stripe: async () => (await import('./stripe.ts')).createStripe,
  alipay: async () => (await import('./alipay.ts')).createAlipay,
  wechat: async () => (await import('./wechat.ts')).createWechat,
  epay: async () => (await import('./epay.ts')).createEpay,
  bank: async () => (await import('./bank.ts')).createBank,
}

export type PaymentMethods = ReadonlyMap<MethodName, PaymentMethod>

/** Asks no provider. Throws a `ConfigError` if a method is half configured, or settings contradict each other. */
export async function createPaymentMethods(deps: PaymentMethodDeps): Promise<PaymentMethods> {
  const { config } = deps
  if (parseAmount(config.paymentMin) > parseAmount(config.paymentMax))
    throw new ConfigError(['Invalid PAYMENT_MIN: must be at most PAYMENT_MAX'])
  const named = [...new Set([...config.paymentMethods, ...methodNames])].filter(
    (name) => settingsOfMethod(config, name).length > 0,
  )
  const factories = await Promise.all(named.map((name) => loaders[name]()))
  const methods = factories.map((create) => create(deps)).filter((method) => method !== null)
  // Providers send notices, and payers' browsers return, to it.
  const hasNotices = methods.some(({ notices }) => notices !== null)
  if (hasNotices) requireHttps({ PUBLIC_URL: config.publicUrl }, config.paymentAllow)
  for (const method of methods) requireWholeUnits(deps, method)
  return new Map(methods.map((method) => [method.name, method]))
}

/** Throws a `ConfigError` if an amount of the settings has more decimals than the currency of a method. */
function requireWholeUnits({ config }: PaymentMethodDeps, { name, currency }: PaymentMethod): void {
  const amounts = {
    PAYMENT_MIN: config.paymentMin,
    PAYMENT_MAX: config.paymentMax,
    PAYMENT_MAX_DAY: config.paymentMaxDay,
    PAYMENT_FEES: config.paymentFees.get(name)?.fixed,
    BANK_SECOND_OPERATOR_ABOVE: name === 'bank' ? (config.bankSecondOperatorAbove ?? undefined) : undefined,
  }
  const decimals = (text: string): number => text.split('.')[1]?.length ?? 0
  const wrong = Object.entries(amounts).filter(
    ([, text]) => text !== undefined && decimals(text) > minorDigitsOf(currency),
  )
  if (wrong.length === 0) return
  throw new ConfigError(
    wrong.map(([env]) => `Invalid ${env}: has more decimals than ${currency}, the currency of ${name}`),
  )
}
