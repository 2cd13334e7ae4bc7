/**
 * Amounts in the minor unit of a currency: cents, fen, or whole yen. Payment providers count in these; balances and
 * prices are nanos (money.ts). Nothing is rounded: text that is not an exact number of minor units is rejected.
 */

import { apiError } from '../errors.ts'

/** ISO 4217 codes, as the runtime knows them. */
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/**
 * The decimals of the minor unit that payment providers use, where they are not two. They differ from those of
 * `Intl.NumberFormat` for some currencies, such as ISK, UGX and MGA.
 */
const minorDigits: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'
    .split(' ')
    .map((code) => [code, 0] as const),
  ...'BHD JOD KWD OMR TND'.split(' ').map((code) => [code, 3] as const),
])

/** Ten digits before the point, no sign, no leading zeros. */
const amountPattern = /^(0|[1-9]\d{0,9})(?:\.(\d{1,3}))?$/

/** Whether the text is an ISO 4217 code, in capitals: `isCurrency("CNY")`. */
export function isCurrency(text: string): boolean {
  return currencies.has(text)
}

/** The decimals of a currency's minor unit: 2 for CNY, 0 for JPY, 3 for KWD. */
export function minorDigitsOf(currency: string): number {
  return minorDigits.get(currency) ?? 2
}

/**
 * Converts a decimal text to minor units: `parseMinor("4.35", "CNY")` → 435n. Throws `invalid_request`, naming `param`,
 * for negative amounts, more decimals than the currency has, and everything but plain digits.
 */
export function parseMinor(text: string, currency: string, param?: string): bigint {
  const digits = minorDigitsOf(currency)
  const [, whole = '', fraction = ''] = amountPattern.exec(text) ?? []
  if (whole === '' || fraction.length > digits) {
    const subject = param === undefined ? 'amount' : `\`${param}\``
    const allowed = digits === 0 ? 'without decimals' : `with at most ${digits} decimals`
    throw apiError('invalid_request', {
      param,
      message: `Invalid ${subject}: must be an amount in ${currency} ${allowed}, such as "${formatMinor(1000n, currency)}".`,
    })
  }
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

/** Converts minor units to text with all decimals of the currency: `formatMinor(110n, "CNY")` → `"1.10"`. */
export function formatMinor(minor: bigint, currency: string): string {
  const digits = minorDigitsOf(currency)
  const sign = minor < 0n ? '-' : ''
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0')
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}
