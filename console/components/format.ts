/** Numbers, money and times as people read them. Money stays the exact decimal string that the server sent. */
import type { Language } from '../language.ts'

const symbols: Readonly<Record<string, string>> = { CNY: '¥', USD: '$', EUR: '€', GBP: '£', JPY: 'JP¥' }

/** `¥1,234.5678`: every digit that was sent, at least two after the point. */
export function moneyText(amount: string, currency: string): string {
  const negative = amount.startsWith('-')
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  const digits = fraction.replace(/0+$/, '').padEnd(2, '0')
  return `${negative ? '−' : ''}${symbols[currency] ?? `${currency} `}${grouped}.${digits}`
}

/** For tiles and charts: rounded to two digits, four when it is less than one. */
export function roundMoneyText(amount: string | number, currency: string): string {
  const value = Number(amount)
  const size = Math.abs(value)
  const digits = size > 0 && size < 1 ? 4 : 2
  const sign = value < 0 ? '−' : ''
  const text = size.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: digits })
  return `${sign}${symbols[currency] ?? `${currency} `}${text}`
}

const oneScale = 1_000_000_000n

/** Nanos of a decimal string of at most nine digits after the point. */
export function nanosOf(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.')
  const nanos = BigInt(whole === '' ? '0' : whole) * oneScale + BigInt(fraction.padEnd(9, '0').slice(0, 9))
  return amount.startsWith('-') ? -nanos : nanos
}

export function decimalOf(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  const fraction = String(size % oneScale)
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${nanos < 0n ? '-' : ''}${size / oneScale}${fraction === '' ? '' : `.${fraction}`}`
}

export function numberText(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 })
}

export function compactText(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 })
}

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function bytesText(bytes: number): string {
  const step = bytes === 0 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** step
  return `${value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 1 : 0 })} ${byteUnits[step] ?? ''}`
}

export function percentText(share: number): string {
  const percent = share * 100
  const digits = percent > 99 && percent < 100 ? 2 : 1
  return `${percent.toLocaleString('en-US', { maximumFractionDigits: digits })}%`
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['second', 1000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['month', 30 * 86_400_000],
  ['year', 365 * 86_400_000],
]

export function relativeText(at: number, now: number, language: Language): string {
  const distance = at - now
  const size = Math.abs(distance)
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' })
  const [unit, unitMs] = steps.findLast(([, ms]) => size >= ms) ?? ['second', 1000]
  return format.format(Math.trunc(distance / unitMs), unit)
}

export function exactText(at: number, language: Language): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'long' }).format(at)
}

export function dayText(at: number, language: Language): string {
  return new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric' }).format(at)
}
