/**
 * Converts money between text and numbers. Internally, an amount is a `bigint` of nanos (1e-9 of the platform's
 * currency) and a price is nanos per million tokens; externally, both are decimal strings, and prices are per 1,000 tokens. Nothing is rounded: text
 * that cannot be represented exactly is rejected.
 */

import { apiError, type ApiError } from '../errors.ts'

/** The largest amount in one text: a thousand million, far below SQLite's 64 bits. */
const maxAmountNanos = 10n ** 18n

const amountDecimals = 9
/** Per 1,000 tokens to nanos per million: 1e9 nanos × 1e3. */
const priceDecimals = 12
const factorDecimals = 6
const maxFactorPpm = 1_000_000_000
const maxRatePpm = 1_000_000_000_000

const decimalPattern = /^(-?)(\d{1,20})(?:\.(\d{1,30}))?$/

/** Scales a decimal text to an integer of 10^-decimals, or returns the problem. */
function scaleDecimal(text: string, decimals: number): bigint | string {
  const match = decimalPattern.exec(text)
  if (match === null) return 'must be a decimal number such as "0.002"'
  const fraction = (match[3] ?? '').replace(/0+$/, '')
  if (fraction.length > decimals) return `must have at most ${decimals} decimal places`
  const whole = BigInt((match[2] ?? '') + fraction.padEnd(decimals, '0'))
  return match[1] === '-' ? -whole : whole
}

function invalid(param: string | undefined, problem: string): ApiError {
  const subject = param === undefined ? 'amount' : `\`${param}\``
  return apiError('invalid_request', { param, message: `Invalid ${subject}: ${problem}.` })
}

function parseDecimal(text: string, decimals: number, param: string | undefined): bigint {
  const value = scaleDecimal(text, decimals)
  if (typeof value === 'bigint') return value
  throw invalid(param, value)
}

function formatDecimal(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals)
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** `"0.002"` → 2_000_000n. Signed, at most nine decimal places. Throws `invalid_request`, naming `param`, for anything else. */
export function parseAmount(text: string, param?: string): bigint {
  const nanos = parseDecimal(text, amountDecimals, param)
  if (nanos > maxAmountNanos || nanos < -maxAmountNanos) throw invalid(param, 'is too large')
  return nanos
}

/** 2_000_000n → `"0.002"`: the shortest decimal text that is exactly this amount. */
export function formatAmount(nanos: bigint): string {
  return formatDecimal(nanos, amountDecimals)
}

/** Converts a price per 1,000 tokens to nanos per million tokens: `"0.002"` → 2_000_000_000n. At most twelve decimal places. */
export function parsePrice(text: string, param?: string): bigint {
  const price = parseDecimal(text, priceDecimals, param)
  if (price < 0n) throw invalid(param, 'must not be negative')
  if (price > maxAmountNanos) throw invalid(param, 'is too large')
  return price
}

/** Converts nanos per million tokens to a price per 1,000 tokens: 2_000_000_000n → `"0.002"`. */
export function formatPrice(nanosPerMillion: bigint): string {
  return formatDecimal(nanosPerMillion, priceDecimals)
}

/** Converts a factor to parts per million: `"1"` → 1_000_000. At most six decimal places, from 0 to 1,000. */
export function parseFactor(text: string, param?: string): number {
  const ppm = Number(parseDecimal(text, factorDecimals, param))
  if (ppm < 0 || ppm > maxFactorPpm) throw invalid(param, 'must be between 0 and 1000')
  return ppm
}

/** Converts an exchange rate to parts per million: `"7.2"` → 7_200_000. At most six decimal places, from 0 to a million. */
export function parseRate(text: string, param?: string): number {
  const ppm = Number(parseDecimal(text, factorDecimals, param))
  if (ppm < 0 || ppm > maxRatePpm) throw invalid(param, 'must be between 0 and 1000000')
  return ppm
}

/** Converts parts per million to a factor: 1_000_000 → `"1"`. */
export function formatFactor(ppm: number): string {
  return formatDecimal(BigInt(ppm), factorDecimals)
}
