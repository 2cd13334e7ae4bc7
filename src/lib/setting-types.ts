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
  | 'Payments'
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

/** Numbers with a unit. */
interface Units {
  readonly allowed: string
  /** The number, and the name of its unit. */
  readonly pattern: RegExp
  readonly factors: readonly (readonly [name: string, factor: number])[]
  readonly zero: string
}

function quantity({ allowed, pattern, factors, zero }: Units, defaultText: string, min: number, max: number) {
  const parse = (text: string): number => {
    const [, count, unit = ''] = pattern.exec(text) ?? []
    const factor = factors.find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1] ?? NaN
    const value = text === '0' ? 0 : Number(count) * factor
    if (!(value >= min && value <= max)) throw new InvalidSettingError()
    return value
  }
  /** The value in the largest unit that divides it. */
  const format = (value: number): string => {
    const [name, factor] = factors.findLast((unit) => value % unit[1] === 0) ?? ['', 1]
    return value === 0 ? zero : `${value / factor}${name}`
  }
  return {
    allowed,
    defaultText: format(parse(defaultText)),
    read: (text: string | undefined): number => parse(text ?? defaultText),
    format,
  }
}

const byteUnits: Units = {
  allowed: 'a size such as `512KiB` or `20MiB`',
  pattern: /^(\d+)\s*(|B|KiB|MiB|GiB)$/i,
  factors: [
    ['', 1],
    ['B', 1],
    ['KiB', 1024],
    ['MiB', 1024 ** 2],
    ['GiB', 1024 ** 3],
  ],
  zero: '0',
}

export function bytes(defaultText: string, min: number, max: number) {
  return quantity(byteUnits, defaultText, min, max)
}

const timeUnits: Units = {
  allowed: 'a duration such as `500ms`, `5s` or `10m`',
  pattern: /^(\d+)(ms|s|m|h|d)$/,
  factors: [
    ['ms', 1],
    ['s', 1000],
    ['m', 60_000],
    ['h', 3_600_000],
    ['d', 86_400_000],
  ],
  zero: '0s',
}

export function duration(defaultText: string, leastMs: number, mostMs: number) {
  return quantity(timeUnits, defaultText, leastMs, mostMs)
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
    const parts = splitList(text)
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

export function splitList(text = ''): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '')
}

/** URLs separated by commas or spaces; a trailing `/v1` or slash is removed. */
export function urlList(text: string | undefined): string[] {
  return splitList(text).map((part) => {
    if (!URL.canParse(part) || !/^https?:/.test(part)) throw new InvalidSettingError()
    return part.replace(/\/+$/, '').replace(/\/v1$/, '')
  })
}

/** An amount of money as text, with at most three decimals. */
export function amountText(defaultText: string) {
  return {
    allowed: 'an amount such as `10` or `0.50`',
    defaultText,
    read(text: string | undefined): string {
      const value = text ?? defaultText
      if (!/^(?:0|[1-9]\d{0,9})(?:\.\d{1,3})?$/.test(value)) throw new InvalidSettingError()
      return value
    },
  }
}

/** On or off. */
export function flag(defaultText: '0' | '1') {
  return {
    allowed: '`1` or `0`',
    defaultText,
    read(text: string | undefined): boolean {
      if (text !== undefined && text !== '1' && text !== '0') throw new InvalidSettingError()
      return (text ?? defaultText) === '1'
    },
  }
}

export const secret = {
  allowed: 'text, or the path of a file in the variable with the suffix `_FILE`',
  defaultText: 'none',
  secret: true,
}
