/**
 * Validation of single fields: names, e-mail addresses, time zones, caps. Each function throws 400 with the
 * name of the field.
 */

import { domainToASCII } from 'node:url'
import { invalidField } from '../errors.ts'

const maxNameLength = 100
const maxEmailLength = 254
const emailPattern = /^[^\s@"(),:;<>[\\\]]{1,64}@([^\s@]+\.[^\s@.]+)$/
const controlPattern = /\p{Cc}/u

/** A display name: trimmed, at most 100 characters, no control characters. */
export function cleanName(text: string, param = 'name'): string {
  const name = text.trim().normalize('NFC')
  if (name.length > maxNameLength) throw invalidField(param, `must have at most ${maxNameLength} characters`)
  if (controlPattern.test(name)) throw invalidField(param, 'must not contain control characters')
  return name
}

export function cleanRequiredName(text: string, param = 'name'): string {
  const name = cleanName(text, param)
  if (name === '') throw invalidField(param, 'must not be empty')
  return name
}

export interface EmailAddress {
  /** As entered, trimmed. */
  readonly email: string
  /** Lower case with an ASCII domain. Unique among accounts. */
  readonly normalised: string
}

export function cleanEmail(text: string, param = 'email'): EmailAddress {
  const email = text.trim().normalize('NFC')
  const domain = emailPattern.exec(email)?.[1]
  const ascii = domain === undefined ? '' : domainToASCII(domain)
  if (email.length > maxEmailLength || ascii === '' || controlPattern.test(email)) {
    throw invalidField(param, 'must be an e-mail address')
  }
  const local = email.slice(0, email.lastIndexOf('@'))
  return { email, normalised: `${local}@${ascii}`.toLowerCase() }
}

/** Domains whose mailboxes ignore dots, with their canonical domain. */
const dotInsensitiveDomains = new Map([
  ['gmail.com', 'gmail.com'],
  ['googlemail.com', 'gmail.com'],
])

/** Spellings that look alike become one, as in Unicode's NFKC_Casefold: full-width letters, invisible characters. */
function foldLookalikes(text: string): string {
  const visible = text.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  return visible.normalize('NFKC').toLowerCase().normalize('NFKC')
}

/**
 * The mailbox that an address is delivered to, as far as the address shows it: the part after a plus sign is
 * ignored, and so are dots if the provider ignores them. For things that a person gets once; two accounts may
 * share a mailbox.
 */
export function mailboxOf(text: string): string {
  const { normalised } = cleanEmail(text)
  const at = normalised.lastIndexOf('@')
  const domain = normalised.slice(at + 1)
  const local = foldLookalikes(normalised.slice(0, at))
  const withoutTag = local.replace(/(?<=.)\+.*$/, '')
  const canonicalDomain = dotInsensitiveDomains.get(domain)
  return canonicalDomain === undefined
    ? `${withoutTag}@${domain}`
    : `${withoutTag.replaceAll('.', '')}@${canonicalDomain}`
}

/** An IANA name or an offset that this Node's Intl supports, in Intl's spelling. */
export function cleanTimezone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw invalidField('timezone', 'must be an IANA time zone such as "Asia/Shanghai"')
  }
}

export function cleanCap(nanos: bigint | null, param: string): bigint | null {
  if (nanos !== null && nanos < 0n) throw invalidField(param, 'must not be negative')
  return nanos
}

export function cleanPriceFactor(ppm: number, param = 'price_factor'): number {
  if (Number.isSafeInteger(ppm) && ppm >= 0) return ppm
  throw invalidField(param, 'must be a decimal number of at least 0')
}
