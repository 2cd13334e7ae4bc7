/** The rule for settings that belong together: none of them, or all of them. */
import { ConfigError } from '../lib/settings.ts'

type Present<Values> = { readonly [Name in keyof Values]: NonNullable<Values[Name]> }

/**
 * The values, by the names of their settings, if every one is set; null if none is. Throws a `ConfigError` that names each
 * one that is missing.
 */
export function requireTogether<const Values extends Readonly<Record<string, unknown>>>(
  values: Values,
): Present<Values> | null {
  const entries = Object.entries(values)
  const missing = entries.filter(([, value]) => value === null || value === undefined).map(([name]) => name)
  if (missing.length === entries.length) return null
  if (missing.length === 0) return values as Present<Values>
  const set = entries.map(([name]) => name).filter((name) => !missing.includes(name))
  throw new ConfigError(missing.map((name) => `Invalid ${name}: must be set together with ${set.join(', ')}`))
}
