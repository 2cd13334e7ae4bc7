/** Rules for the settings of a payment method: none of those that belong together, or all; and https. */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config.ts'
import { paymentSettings, type MethodName } from '../config/payments.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { ConfigError } from '../lib/settings.ts'
import { mayUseHttp } from './provider-http.ts'

type Present<Values> = { readonly [Name in keyof Values]: NonNullable<Values[Name]> }

/** The names of the method's own settings, which begin with its name, that are not at their defaults. */
export function settingsOfMethod(config: Config, method: MethodName): string[] {
  return Object.entries(paymentSettings)
    .filter(([key, setting]) => {
      const value: unknown = config[key as keyof typeof paymentSettings]
      return key.startsWith(method) && !isDeepStrictEqual(value, setting.read(undefined))
    })
    .map(([, { env }]) => env)
}

/**
 * The values, by the names of their settings, if every one is set; null if no setting of the method is. Throws a
 * `ConfigError` that names each one that is missing.
 */
export function requireTogether<const Values extends Readonly<Record<string, unknown>>>(
  values: Values,
  config: Config,
  method: MethodName,
): Present<Values> | null {
  const entries = Object.entries(values)
  const missing = entries.filter(([, value]) => value === null || value === undefined).map(([name]) => name)
  if (missing.length === 0) return values as Present<Values>
  const set = settingsOfMethod(config, method)
  if (set.length === 0) return null
  throw new ConfigError(missing.map((name) => `Invalid ${name}: must be set together with ${set.join(', ')}`))
}

/**
 * Throws a `ConfigError` that names each setting without a URL, or with one that begins with http:// where `allow`
 * (PAYMENT_ALLOW) does not list its address.
 */
export function requireHttps(urls: Readonly<Record<string, string | null>>, allow: readonly string[]): void {
  const cidrs = parseCidrs(allow.join(','))
  const isAccepted = (url: string | null): boolean =>
    url !== null && (url.startsWith('https://') || mayUseHttp(url, cidrs))
  const wrong = Object.entries(urls).filter(([, url]) => !isAccepted(url))
  if (wrong.length === 0) return
  throw new ConfigError(
    wrong.map(
      ([name]) => `Invalid ${name}: must begin with https:// (or be an address that PAYMENT_ALLOW lists)`,
    ),
  )
}
