/**
 * Calls to an epay site. Sites run the same protocol with unequal care: every response is checked for its form, and text of
 * the site is never shown unbounded.
 */
import { parseMinor } from '../lib/currency.ts'
import type { GuardedResponse } from '../lib/guarded-http.ts'
import { toBoundedText } from '../lib/valid-text.ts'
import type { EpayFields } from './epay-signature.ts'
import { ProviderError, type PayInstruction } from './payment-method.ts'
import type { ProviderHttp } from './provider-http.ts'

/** A JSON object of the site. Its numbers are their text. */
export type EpayRow = Readonly<Record<string, unknown>>

/** What every epay site takes. */
export const epayCurrency = 'CNY'

const maxReasonLength = 200
/** In bytes; the densest QR code has room for 2,953. */
const maxInstructionBytes = 2000
/** Links into the apps that pay. */
const appSchemes = ['weixin:', 'wxp:', 'alipay:', 'alipays:', 'mqqapi:', 'mqqwallet:', 'upwrp:']

/** Sites name an unknown order or refund by text only. The merchant's being unknown is not meant. */
const notFoundPattern =
  /(?:订单|退款|order|refund)[^，。；,.;]{0,20}(?:不存在|未找到|not\s+(?:exist|found))|(?:没有|未找到|no such)\s*(?:该|此|相关)?\s*(?:订单|退款|order|refund)/i

/** A number keeps its text: ids of 20 digits and amounts are exact. */
function numberText(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? String(value)) : value
}

export function isRow(value: unknown): value is EpayRow {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of a field; empty if it is absent or no text or number. */
export function textOf(row: EpayRow, name: string): string {
  const value = row[name]
  return typeof value === 'string' ? value : ''
}

/** Whether an error of the site says that it does not know the order or refund. */
export function isNotFound(row: EpayRow): boolean {
  return notFoundPattern.test(textOf(row, 'msg'))
}

/** `2026-11-28 10:00:00` (Beijing) or Unix seconds → milliseconds; null: neither. */
export function timeOf(row: EpayRow, name: string): number | null {
  const text = textOf(row, name)
  if (/^\d{10}$/.test(text)) return Number(text) * 1000
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return null
  const at = Date.parse(`${text.replace(' ', 'T')}+08:00`)
  return Number.isNaN(at) ? null : at
}

export class EpaySite {
  readonly #base: string
  readonly #http: ProviderHttp
  /** With its path, without a slash at the end: names the site in messages and in the merchant. */
  readonly name: string

  /** `base`: with or without a path and a slash at its end. */
  constructor(base: string, http: ProviderHttp) {
    const url = new URL(base)
    this.name = url.host + url.pathname.replace(/\/+$/, '')
    this.#base = `${url.protocol}//${this.name}/`
    this.#http = http
  }

  /** `url('submit.php', {pid: '1001'})` → `https://pay.example/submit.php?pid=1001` */
  url(path: string, fields: EpayFields): string {
    return `${this.#base}${path}?${new URLSearchParams(fields).toString()}`
  }

  /** Throws a `ProviderError` if the site does not respond. */
  async request(method: 'GET' | 'POST', path: string, fields: EpayFields): Promise<GuardedResponse> {
    const headers = { accept: 'application/json' }
    if (method === 'GET')
      return await this.#http.request({ method, url: this.url(path, fields), headers, body: null })
    return await this.#http.request({
      method,
      url: this.#base + path,
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    })
  }

  /** Throws a `ProviderError` for everything but a JSON object with status 200. */
  parse({ status, body }: GuardedResponse): EpayRow {
    if (status !== 200) throw this.error(`responded with status ${status}`)
    let value: unknown
    try {
      // PHP files that begin with a byte order mark send it, too.
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body), numberText)
    } catch {
      // The error would quote the response, which may name the payer.
      throw this.error('did not respond with JSON')
    }
    if (!isRow(value)) throw this.error('did not respond with a JSON object')
    return value
  }

  async call(method: 'GET' | 'POST', path: string, fields: EpayFields): Promise<EpayRow> {
    return this.parse(await this.request(method, path, fields))
  }

  error(problem: string): ProviderError {
    return new ProviderError(`${this.name} ${problem}.`)
  }

  /** What the site says about a refusal, without the secrets that it may repeat. */
  reasonOf(row: EpayRow, secret: string | null = null): string {
    const reason = toBoundedText(textOf(row, 'msg').replaceAll(/\p{Cc}/gu, ' '), maxReasonLength)
    const isSafe = reason.trim() !== '' && (secret === null || !reason.includes(secret))
    return isSafe ? reason : `Refused by ${this.name}`
  }

  /** A text of the site as the way to pay; null: it may not be shown. Paths of the site's own are resolved. */
  instructionOf(kind: 'qr' | 'redirect', text: string): PayInstruction | null {
    if (text === '' || Buffer.byteLength(text) > maxInstructionBytes || /\p{Cc}/u.test(text)) return null
    if (kind === 'qr') return { kind, qr: text }
    if (!URL.canParse(text, this.#base)) return null
    const url = new URL(text, this.#base)
    return [...appSchemes, 'https:', 'http:'].includes(url.protocol) ? { kind, url: url.href } : null
  }

  /** The field `money`, in fen. */
  minorOf(row: EpayRow): bigint {
    try {
      return parseMinor(textOf(row, 'money'), epayCurrency)
    } catch {
      throw this.error('stated no valid amount')
    }
  }
}
