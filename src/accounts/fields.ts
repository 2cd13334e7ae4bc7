/** The rules of single fields: texts, e-mail addresses, time zones, caps. Each refuses with 400 and the field's name. */

import { domainToASCII } from 'node:url'
import { refuse, type Refusal } from '../errors.ts'

const nameMax = 100
const emailMax = 254
const emailPattern = /^[^\s@"(),:;<>[\\\]]{1,64}@([^\s@]+\.[^\s@.]+)$/
const controlPattern = /\p{Cc}/u

export function invalid(param: string, words: string): Refusal {
  return refuse('invalid_request', { param, message: `${param} ${words}.` })
}

/** A name for people: trimmed, at most 100 characters, no control characters. */
export function cleanName(text: string, param = 'name'): string {
  const name = text.trim().normalize('NFC')
  if (name.length > nameMax) throw invalid(param, `may have at most ${nameMax} characters`)
  if (controlPattern.test(name)) throw invalid(param, 'may not contain control characters')
  return name
}

export function cleanRequiredName(text: string, param = 'name'): string {
  const name = cleanName(text, param)
  if (name === '') throw invalid(param, 'may not be empty')
  return name
}

export interface Email {
  /** As written, trimmed. */
  readonly email: string
  /** Lower case with an ASCII domain: what makes an account unique. */
  readonly normalised: string
}

export function cleanEmail(text: string): Email {
  const email = text.trim().normalize('NFC')
  const domain = emailPattern.exec(email)?.[1]
  const ascii = domain === undefined ? '' : domainToASCII(domain)
  if (email.length > emailMax || ascii === '' || controlPattern.test(email)) {
    throw invalid('email', 'has to be an e-mail address')
  }
  const local = email.slice(0, email.lastIndexOf('@'))
  return { email, normalised: `${local}@${ascii}`.toLowerCase() }
}

/** Mailboxes that one person reads under many names: the dots of a name do not count there. */
const dotless = new Map([
  ['gmail.com', 'gmail.com'],
  ['googlemail.com', 'gmail.com'],
])

/**
 * The mailbox behind an address, as far as its writing tells: what follows a plus does not count, nor do dots where the
 * provider overlooks them. For what a person gets once; two accounts may share a mailbox.
 */
export function mailboxOf(text: string): string {
  const { normalised } = cleanEmail(text)
  const at = normalised.lastIndexOf('@')
  const domain = normalised.slice(at + 1)
  const local = normalised.slice(0, at)
  const plain = local.replace(/(?<=.)\+.*$/, '')
  const dotlessDomain = dotless.get(domain)
  return dotlessDomain === undefined ? `${plain}@${domain}` : `${plain.replaceAll('.', '')}@${dotlessDomain}`
}

/** An IANA name or an offset that this Node's Intl knows, in Intl's spelling. */
export function cleanTimezone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw invalid('timezone', 'has to be an IANA time zone such as "Asia/Shanghai"')
  }
}

export function cleanCap(nanos: bigint | null, param: string): bigint | null {
  if (nanos !== null && nanos < 0n) throw invalid(param, 'may not be negative')
  return nanos
}

export function cleanPriceFactor(ppm: number, param = 'price_factor'): number {
  if (Number.isSafeInteger(ppm) && ppm >= 0) return ppm
  throw invalid(param, 'has to be a decimal number from 0')
}
