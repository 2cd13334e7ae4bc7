/** The payment methods that are configured, in the order of `PAYMENT_METHODS`. */
import { minorDigitsOf } from '../lib/currency.ts'
import { ConfigError } from '../lib/settings.ts'
import { createAlipay } from './alipay.ts'
import { createBank } from './bank.ts'
import { createEpay } from './epay.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { methodNames, type MethodName, type PaymentMethod } from './payment-method.ts'
import { requireHttps } from './required-settings.ts'
import { createStripe } from './stripe.ts'
import { createWechat } from './wechat.ts'

/** null: not configured. Throws a `ConfigError` naming the setting that is missing if it is half configured. */
type MethodFactory = (deps: PaymentMethodDeps) => PaymentMethod | null

/** One line per method. */
const factories: Partial<Record<MethodName, MethodFactory>> = {
  stripe: createStripe,
  alipay: createAlipay,
  wechat: createWechat,
  epay: createEpay,
  bank: createBank,
}

export type PaymentMethods = ReadonlyMap<MethodName, PaymentMethod>

/** Asks no provider. Throws a `ConfigError` if a method is half configured. */
export function createPaymentMethods(deps: PaymentMethodDeps): PaymentMethods {
  const order = [...new Set([...deps.config.paymentMethods, ...methodNames])]
  const methods = order.map((name) => factories[name]?.(deps) ?? null).filter((method) => method !== null)
  // Providers send notices, and payers' browsers return, to it.
  const hasNotices = methods.some(({ notices }) => notices !== null)
  const { publicUrl, paymentAllow } = deps.config
  if (hasNotices) requireHttps({ PUBLIC_URL: publicUrl }, paymentAllow)
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
