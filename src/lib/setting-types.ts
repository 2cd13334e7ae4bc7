/** The types of settings: how each is parsed from an environment variable, and the description of its allowed values. */

import { parseCidrs } from './address-guard.ts'

export interface Setting<T> {
  readonly env: string
  readonly group: Group
  readonly doc: string
  /** A description of the allowed values, for the documentation and for errors. */
  readonly allowed: string
  /** The default as shown in the documentation. */
  readonly defaultText: string
  /** Never displayed; may also be read from the file that `<env>_FILE` names. */
  readonly secret?: boolean
  /** Throws if the text is not allowed. `undefined`: not set. */
  readonly read: (text: string | undefined, environment: Environment) => T
  /** The value as an operator would write it, or null for the default; without this, as text. */
  readonly format?: (value: never) => string | null
}

export type Group =
  | 'Network'
  | 'Data'
  | 'Access'
  | 'Limits'
  | 'Upstreams'
  | 'Availability'
  | 'Notifications'
  | 'Process'
  | 'Logging'
export type Environment = Readonly<Record<string, string | undefined>>

/** Settings under one heading of the documentation. */
export function inGroup<const Settings extends Readonly<Record<string, Omit<Setting<unknown>, 'group'>>>>(
  group: Group,
  settings: Settings,
): { readonly [Name in keyof Settings]: Settings[Name] & { readonly group: Group } } {
  const grouped = Object.entries(settings).map(([name, setting]) => [name, { ...setting, group }])
  return Object.fromEntries(grouped) as ReturnType<typeof inGroup<Settings>>
}

/** The message, if any, explains the problem in addition to the allowed values. */
export class InvalidSettingError extends Error {}

export function integer(defaultText: number, min: number, max: number) {
  return {
    allowed: `a whole number from ${min} to ${max}`,
    defaultText: String(defaultText),
    read(text: string | undefined): number {
      if (text === undefined) return defaultText
      const value = Number(text)
      if (!/^\d+$/.test(text) || value < min || value > max) throw new InvalidSettingError()
      return value
    },
  }
}

/** `null` if not set; `defaultText` says what that means. */
export function optionalInteger(defaultText: string, min: number, max: number) {
  const type = integer(min, min, max)
  return {
    allowed: type.allowed,
    defaultText,
    read: (text: string | undefined): number | null => (text === undefined ? null : type.read(text)),
  }
}

/** The value in the largest of these units that divides it. */
function formatWithUnit(value: number, units: readonly (readonly [string, number])[], zero: string): string {
  const fitting = units.filter(([, factor]) => value % factor === 0).at(-1)
  return value === 0 || fitting === undefined ? zero : `${value / fitting[1]}${fitting[0]}`
}

const byteUnits = [
  ['B', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
] as const
const bytesByUnit: Record<string, number> = {
  '': 1,
  ...Object.fromEntries(byteUnits.map(([unit, factor]) => [unit.toUpperCase(), factor])),
}

export function bytes(defaultText: string, min: number, max: number) {
  const parse = (text: string): number => {
    const match = /^(\d+)\s*(|B|KiB|MiB|GiB)$/i.exec(text)
    const value = match ? Number(match[1]) * (bytesByUnit[(match[2] ?? '').toUpperCase()] ?? NaN) : NaN
    if (!(value >= min && value <= max)) throw new InvalidSettingError()
    return value
  }
  const format = (value: number): string => formatWithUnit(value, byteUnits, '0')
  return {
    allowed: 'a size such as `512KiB` or `20MiB`',
    defaultText: format(parse(defaultText)),
    read: (text: string | undefined): number => parse(text ?? defaultText),
    format,
  }
}

const timeUnits = [
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
] as const
const msByUnit: Record<string, number> = Object.fromEntries(timeUnits)

export function duration(defaultText: string, leastMs: number, mostMs: number) {
  const parse = (text: string): number => {
    const match = /^(\d+)(ms|s|m|h|d)$/.exec(text === '0' ? '0s' : text)
    const value = match ? Number(match[1]) * (msByUnit[match[2] ?? ''] ?? NaN) : NaN
    if (!(value >= leastMs && value <= mostMs)) throw new InvalidSettingError()
    return value
  }
  const format = (value: number): string => formatWithUnit(value, timeUnits, '0s')
  return {
    allowed: 'a duration such as `500ms`, `5s` or `10m`',
    defaultText: format(parse(defaultText)),
    read: (text: string | undefined): number => parse(text ?? defaultText),
    format,
  }
}

export function string(defaultText: string, shown = defaultText) {
  return {
    allowed: 'text',
    defaultText: shown,
    read: (text: string | undefined): string => text ?? defaultText,
  }
}

export function oneOf<const W extends string>(defaultText: W, values: readonly W[]) {
  return {
    allowed: `one of ${values.map((each) => `\`${each}\``).join(', ')}`,
    defaultText,
    read(text: string | undefined): W {
      if (text === undefined) return defaultText
      const found = values.find((each) => each === text)
      if (found === undefined) throw new InvalidSettingError()
      return found
    },
  }
}

export const cidrList = {
  allowed: 'comma-separated addresses or CIDRs, such as `10.0.0.0/8,fd00::/8`',
  defaultText: 'none',
  read(text: string | undefined): string[] {
    const parts = (text ?? '').split(/[\s,]+/).filter((part) => part !== '')
    try {
      parseCidrs(parts.join(','))
    } catch (error) {
      throw new InvalidSettingError(error instanceof Error ? error.message : '')
    }
    return parts
  },
}

/** Validates the URL of a server; no part of it appears in errors, because it may contain a password. */
export function serverUrl(text: string | undefined, prefix: RegExp): string | null {
  if (text === undefined) return null
  if (!prefix.test(text)) throw new InvalidSettingError()
  try {
    const { username, password } = new URL(text)
    decodeURIComponent(username + password)
  } catch {
    throw new InvalidSettingError(
      'write `/`, `@`, `#` and `%` in a password as `%2F`, `%40`, `%23` and `%25`',
    )
  }
  return text
}

/** URLs separated by commas or spaces; a trailing `/v1` or slash is removed. */
export function urlList(text: string | undefined): string[] {
  const parts = (text ?? '').split(/[\s,]+/).filter((part) => part !== '')
  return parts.map((part) => {
    if (!URL.canParse(part) || !/^https?:/.test(part)) throw new InvalidSettingError()
    return part.replace(/\/+$/, '').replace(/\/v1$/, '')
  })
}

export const secret = {
  allowed: 'text, or the path of a file in the variable with the suffix `_FILE`',
  defaultText: 'none',
  secret: true,
}
