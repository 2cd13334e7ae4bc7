/** The payment methods that are configured, in the order of `PAYMENT_METHODS`. */
import { parseCidrs } from '../lib/address-guard.ts'
import { ConfigError } from '../lib/settings.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { methodNames, type MethodName, type PaymentMethod } from './payment-method.ts'
import { mayUseHttp } from './provider-http.ts'

/** null: not configured. Throws a `ConfigError` naming the setting that is missing if it is half configured. */
type MethodFactory = (deps: PaymentMethodDeps) => PaymentMethod | null

/** One line per method. */
const factories: Partial<Record<MethodName, MethodFactory>> = {}

export type PaymentMethods = ReadonlyMap<MethodName, PaymentMethod>

/** Asks no provider. Throws a `ConfigError` if a method is half configured. */
export function createPaymentMethods(deps: PaymentMethodDeps): PaymentMethods {
  const order = [...new Set([...deps.config.paymentMethods, ...methodNames])]
  const methods = order.map((name) => factories[name]?.(deps) ?? null).filter((method) => method !== null)
  requirePublicUrl(deps, methods)
  return new Map(methods.map((method) => [method.name, method]))
}

/** Providers send notices and payers' browsers to the relay: only by https, except in tests. */
function requirePublicUrl({ config }: PaymentMethodDeps, methods: readonly PaymentMethod[]): void {
  const names = methods.filter(({ notices }) => notices !== null).map(({ name }) => name)
  if (names.length === 0) return
  const { publicUrl, paymentAllow } = config
  if (publicUrl?.startsWith('https:') === true) return
  if (publicUrl !== null && mayUseHttp(publicUrl, parseCidrs(paymentAllow.join(',')))) return
  throw new ConfigError([`Invalid PUBLIC_URL: must be an https URL for payments by ${names.join(', ')}`])
}
