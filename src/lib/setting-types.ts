/**
 * What a setting is, and the kinds of them: how each is read from text, what is allowed, said in words.
 */

import { parseCidrs } from './address-guard.ts'

export interface Setting<T> {
  readonly env: string
  readonly group: Group
  readonly doc: string
  /** What is allowed, in words, for the docs page and for the error. */
  readonly allowed: string
  /** The default as the docs page writes it. */
  readonly standard: string
  /** Never shown; may also be given as a file by `<env>_FILE`. */
  readonly secret?: boolean
  /** Throws when the text is not allowed. `undefined`: not set. */
  readonly read: (text: string | undefined, environment: Environment) => T
}

export type Group =
  | 'Where it listens'
  | 'Data'
  | 'Access'
  | 'Limits'
  | 'Upstreams'
  | 'Availability'
  | 'Notices'
  | 'Running'
  | 'Logs'
export type Environment = Readonly<Record<string, string | undefined>>

/** The message: what is wrong with it, where that is worth more words than what is allowed. */
export class NotAllowed extends Error {}

export function wholeNumber(standard: number, least: number, most: number) {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    standard: String(standard),
    read(text: string | undefined): number {
      if (text === undefined) return standard
      const value = Number(text)
      if (!/^\d+$/.test(text) || value < least || value > most) throw new NotAllowed()
      return value
    },
  }
}

const byteUnits: Record<string, number> = { '': 1, B: 1, KIB: 1024, MIB: 1024 ** 2, GIB: 1024 ** 3 }

export function bytes(standard: string, least: number, most: number) {
  const parse = (text: string): number => {
    const match = /^(\d+)\s*(|B|KiB|MiB|GiB)$/i.exec(text)
    const value = match ? Number(match[1]) * (byteUnits[(match[2] ?? '').toUpperCase()] ?? NaN) : NaN
    if (!(value >= least && value <= most)) throw new NotAllowed()
    return value
  }
  return {
    allowed: 'a size such as `512KiB` or `20MiB`',
    standard,
    read: (text: string | undefined): number => parse(text ?? standard),
  }
}

const timeUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function duration(standard: string, leastMs: number, mostMs: number) {
  const parse = (text: string): number => {
    const match = /^(\d+)(ms|s|m|h|d)$/.exec(text === '0' ? '0s' : text)
    const value = match ? Number(match[1]) * (timeUnits[match[2] ?? ''] ?? NaN) : NaN
    if (!(value >= leastMs && value <= mostMs)) throw new NotAllowed()
    return value
  }
  return {
    allowed: 'a time such as `500ms`, `5s` or `10m`',
    standard,
    read: (text: string | undefined): number => parse(text ?? standard),
  }
}

export function word(standard: string, shown = standard) {
  return {
    allowed: 'text',
    standard: shown,
    read: (text: string | undefined): string => text ?? standard,
  }
}

export function oneOf<const W extends string>(standard: W, words: readonly W[]) {
  return {
    allowed: `one of ${words.map((each) => `\`${each}\``).join(', ')}`,
    standard,
    read(text: string | undefined): W {
      if (text === undefined) return standard
      const found = words.find((each) => each === text)
      if (found === undefined) throw new NotAllowed()
      return found
    },
  }
}

export const cidrList = {
  allowed: 'comma-separated addresses or CIDRs, such as `10.0.0.0/8,fd00::/8`',
  standard: 'none',
  read(text: string | undefined): string[] {
    const parts = (text ?? '').split(/[\s,]+/).filter((part) => part !== '')
    try {
      parseCidrs(parts.join(','))
    } catch (error) {
      throw new NotAllowed(error instanceof Error ? error.message : '')
    }
    return parts
  },
}

/** The address of a server with its login; nothing of it is told. */
export function serverAddress(text: string | undefined, beginning: RegExp): string | null {
  if (text === undefined) return null
  if (!beginning.test(text)) throw new NotAllowed()
  try {
    const { username, password } = new URL(text)
    decodeURIComponent(username + password)
  } catch {
    throw new NotAllowed('`/`, `@`, `#` and `%` in a password are written `%2F`, `%40`, `%23` and `%25`')
  }
  return text
}

/** Addresses separated by commas, without the `/v1` and the slash that people write at their end. */
export function addressList(text: string | undefined): string[] {
  const parts = (text ?? '').split(/[\s,]+/).filter((part) => part !== '')
  return parts.map((part) => {
    if (!URL.canParse(part) || !/^https?:/.test(part)) throw new NotAllowed()
    return part.replace(/\/+$/, '').replace(/\/v1$/, '')
  })
}

export const secret = {
  allowed: 'text, or a file by the same name with `_FILE`',
  standard: 'none',
  secret: true,
}
