/**
 * Currencies and their minor units (fen, cents). Amounts of payments are whole minor units as bigint; text is parsed by a
 * strict pattern, never through a floating-point number. Exponents: ISO 4217, as payment providers use them.
 */
import { apiError } from '../errors.ts'

const withoutMinorUnits = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
const withThreeDigits = new Set('BHD JOD KWD OMR TND'.split(' '))

/** How many decimal places the currency's minor unit has. */
export function minorDigitsOf(currency: string): number {
  if (withoutMinorUnits.has(currency)) return 0
  return withThreeDigits.has(currency) ? 3 : 2
}

/** `"10.5"` in CNY → 1,050n. Throws `invalid_request` naming `param` for anything but a positive amount or 0. */
export function parseMinor(text: string, currency: string, param?: string): bigint {
  const digits = minorDigitsOf(currency)
  const [, whole, fraction = ''] = /^(0|[1-9]\d{0,9})(?:\.(\d{1,3}))?$/.exec(text) ?? []
  if (whole !== undefined && fraction.length <= digits) return BigInt(whole + fraction.padEnd(digits, '0'))
  const places = digits === 0 ? 'no decimal places' : `at most ${digits} decimal places`
  const message = `Invalid ${param === undefined ? 'amount' : `\`${param}\``}: must be an amount in ${currency} with ${places}.`
  throw apiError('invalid_request', { param, message })
}

/** 1,050n in CNY → `"10.50"`. */
export function formatMinor(minor: bigint, currency: string): string {
  const digits = minorDigitsOf(currency)
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0')
  const sign = minor < 0n ? '-' : ''
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}
