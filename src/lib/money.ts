/**
 * Money as text and as numbers. Inside, money is whole nano-yuan (1e-9) as `bigint` and a price is nanos per
 * million tokens; outside, both are decimal strings, prices per 1,000 tokens as the price list writes them
 * (specification §1). Nothing here rounds: what does not fit exactly is refused.
 */

import { refuse } from '../errors.ts'

/** The largest amount one text may name: a thousand million yuan, far inside SQLite's 64 bits. */
const amountMaxNanos = 10n ** 18n

const amountDecimals = 9
/** Per 1,000 tokens to nanos per million: 1e9 nanos × 1e3. */
const priceDecimals = 12
const factorDecimals = 6
const factorMaxPpm = 1_000_000_000

const decimalPattern = /^(-?)(\d{1,20})(?:\.(\d{1,30}))?$/

/** Scales a decimal text to a whole number of 10^-decimals, or says why it cannot. */
function scaled(text: string, decimals: number): bigint | string {
  const match = decimalPattern.exec(text)
  if (match === null) return 'has to be a decimal number such as "0.002"'
  const fraction = (match[3] ?? '').replace(/0+$/, '')
  if (fraction.length > decimals) return `may have at most ${decimals} decimals`
  const whole = BigInt((match[2] ?? '') + fraction.padEnd(decimals, '0'))
  return match[1] === '-' ? -whole : whole
}

function scaledOrRefused(text: string, decimals: number, param: string | undefined): bigint {
  const value = scaled(text, decimals)
  if (typeof value === 'bigint') return value
  throw refuse('invalid_request', { param, message: `${param ?? 'The amount'} ${value}.` })
}

function refuseRange(param: string | undefined, words: string): never {
  throw refuse('invalid_request', { param, message: `${param ?? 'The amount'} ${words}.` })
}

function decimal(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals)
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** `"0.002"` → 2_000_000n. Signed, at most nine decimals. Refuses (400, naming `param`) anything else. */
export function nanosOf(text: string, param?: string): bigint {
  const nanos = scaledOrRefused(text, amountDecimals, param)
  if (nanos > amountMaxNanos || nanos < -amountMaxNanos) refuseRange(param, 'is too large')
  return nanos
}

/** 2_000_000n → `"0.002"`: the shortest decimal text that is exactly this amount. */
export function decimalOf(nanos: bigint): string {
  return decimal(nanos, amountDecimals)
}

/** A price per 1,000 tokens to nanos per million tokens: `"0.002"` → 2_000_000_000n. At most twelve decimals. */
export function pricePerMillionOf(text: string, param?: string): bigint {
  const price = scaledOrRefused(text, priceDecimals, param)
  if (price < 0n) refuseRange(param, 'may not be negative')
  if (price > amountMaxNanos) refuseRange(param, 'is too large')
  return price
}

/** Nanos per million tokens to the price per 1,000 tokens: 2_000_000_000n → `"0.002"`. */
export function pricePer1KOf(nanosPerMillion: bigint): string {
  return decimal(nanosPerMillion, priceDecimals)
}

/** A factor to parts per million: `"1"` → 1_000_000. At most six decimals, from 0 to 1,000. */
export function factorPpmOf(text: string, param?: string): number {
  const ppm = Number(scaledOrRefused(text, factorDecimals, param))
  if (ppm < 0 || ppm > factorMaxPpm) refuseRange(param, 'has to be between 0 and 1000')
  return ppm
}

/** Parts per million to a factor: 1_000_000 → `"1"`. */
export function factorOf(ppm: number): string {
  return decimal(BigInt(ppm), factorDecimals)
}
