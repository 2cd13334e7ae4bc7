/** Formats numbers, money and times. Money stays the exact decimal string that the server sent. */
import type { Language } from '../locales/messages.ts'

const currencySymbols = new Map<string, string>()

/** `¥` for CNY, `$` for USD, `JP¥` for JPY; the code of a currency without a symbol. The same in both languages. */
export function currencySymbol(currency: string): string {
  const known = currencySymbols.get(currency)
  if (known !== undefined) return known
  const parts = new Intl.NumberFormat('en-US', { style: 'currency', currency }).formatToParts(0)
  const symbol = parts.find(({ type }) => type === 'currency')?.value ?? currency
  // English writes yen as `¥` and yuan as `CN¥`; here, the yuan is the one without letters, as in Chinese.
  const shown = new Map([
    ['CNY', '¥'],
    ['JPY', 'JP¥'],
  ]).get(currency)
  currencySymbols.set(currency, shown ?? symbol)
  return shown ?? symbol
}

/** A code is separated from the number. */
function currencyPrefix(currency: string): string {
  const symbol = currencySymbol(currency)
  return /^[A-Z]+$/.test(symbol) ? `${symbol} ` : symbol
}

/** `¥1,234.5678`: all digits, with at least two decimals. */
export function formatMoney(amount: string, currency: string): string {
  const negative = amount.startsWith('-')
  const [integer = '0', fraction = ''] = amount.replace('-', '').split('.')
  const grouped = integer.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  const digits = fraction.replace(/0+$/, '').padEnd(2, '0')
  return `${negative ? '−' : ''}${currencyPrefix(currency)}${grouped}.${digits}`
}

/** For charts: rounded to two decimals; less than one to at least four, so that no amount but 0 is shown as 0. */
export function formatRoundedMoney(value: number, currency: string): string {
  const size = Math.abs(value)
  const digits = size > 0 && size < 1 ? Math.max(4, Math.ceil(-Math.log10(size)) + 1) : 2
  const sign = value < 0 ? '−' : ''
  const text = size.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: digits })
  return `${sign}${currencyPrefix(currency)}${text}`
}

const nanosPerUnit = 1_000_000_000n

/** The nanos of a decimal string with at most nine decimals. */
export function toNanos(amount: string): bigint {
  const [integer = '0', fraction = ''] = amount.replace('-', '').split('.')
  const nanos =
    BigInt(integer === '' ? '0' : integer) * nanosPerUnit + BigInt(fraction.padEnd(9, '0').slice(0, 9))
  return amount.startsWith('-') ? -nanos : nanos
}

export function fromNanos(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  const fraction = String(size % nanosPerUnit)
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${nanos < 0n ? '-' : ''}${size / nanosPerUnit}${fraction === '' ? '' : `.${fraction}`}`
}

export function formatNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 })
}

export function formatCompact(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 })
}

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function formatBytes(bytes: number): string {
  const exponent = bytes === 0 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** exponent
  return `${value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 1 : 0 })} ${byteUnits[exponent] ?? ''}`
}

export function formatPercent(share: number): string {
  const percent = share * 100
  const digits = percent > 99 && percent < 100 ? 2 : 1
  return `${percent.toLocaleString('en-US', { maximumFractionDigits: digits })}%`
}

/** Rounded down, so that less than all is never 100%, and the same number looks the same on every page. */
export function formatSuccessRate(share: number | null): string {
  return share === null ? '–' : `${Math.floor(share * 10_000 + 1e-9) / 100}%`
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

const relativeUnits: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['second', 1000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['month', 30 * 86_400_000],
  ['year', 365 * 86_400_000],
]

export function formatRelativeTime(at: number, now: number, language: Language): string {
  const distance = at - now
  const distanceMs = Math.abs(distance)
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' })
  const [unit, unitMs] = relativeUnits.findLast(([, ms]) => distanceMs >= ms) ?? ['second', 1000]
  return format.format(Math.trunc(distance / unitMs), unit)
}

/**
 * `2026-11-23 00:29:29` in Chinese, where Intl's own medium style is long and unusual in software. In the browser's time
 * zone, which English names, unless the page names one.
 */
export function formatDateTime(at: number, language: Language, timeZone?: string): string {
  if (language === 'zh-CN') {
    return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone }).format(at)
  }
  return new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: timeZone === undefined ? 'long' : 'medium',
    hourCycle: 'h23',
    timeZone,
  }).format(at)
}

/** `Nov 23, 15:16:02`; of another year with the year. For columns, where each character counts. */
export function formatLogTime(at: number, now: number, language: Language): string {
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  if (language === 'zh-CN') {
    const text = formatDateTime(at, language)
    return isThisYear ? text.slice('2026-'.length) : text
  }
  return new Intl.DateTimeFormat(language, {
    ...(isThisYear ? {} : { year: 'numeric' }),
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(at)
}

/** `2026-12-01`, in the browser's time zone. */
export function formatDate(at: number): string {
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short' }).format(at)
}

export function formatDay(at: number, language: Language, timeZone: string): string {
  return new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', timeZone }).format(at)
}

/** `November 2026` or `2026年11月`, from `2026-11`. */
export function formatMonth(month: string, language: Language): string {
  const at = Date.parse(`${month}-01T00:00:00Z`)
  if (Number.isNaN(at)) return month
  return new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(at)
}

/** The days from `from` until before `to`: `Nov 1 – Nov 30, 2026` or `2026-11-01 至 2026-11-30`. */
export function formatPeriod(from: number, to: number, language: Language, timeZone: string): string {
  const last = to - 1
  if (language === 'zh-CN') {
    const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone })
    return `${format.format(from)} 至 ${format.format(last)}`
  }
  const lastDay = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone }).format(last)
  return `${formatDay(from, language, timeZone)} – ${lastDay}`
}

/** `Asia/Shanghai (UTC+8)`. */
export function formatTimeZone(timeZone: string): string {
  const offset = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'shortOffset' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName')?.value
  return offset === undefined ? timeZone : `${timeZone} (${offset.replace('GMT', 'UTC')})`
}
