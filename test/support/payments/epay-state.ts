/** The orders and refunds of a scripted epay site, and its own implementation of the signatures. */
import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import type { GenuinePayment, PaymentChanges } from './scripted-provider.ts'

export type Fields = Record<string, string>

export const pid = '1001'
export const md5Key = '89unJUB8HZ54Hj7x4nUj56HN4nUzUJ8i'
export const merchantKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const siteKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const otherKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })

export function textToSign(fields: Fields): string {
  const names = Object.keys(fields).filter(
    (name) => !['sign', 'sign_type'].includes(name) && fields[name] !== '',
  )
  return names
    .toSorted()
    .map((name) => `${name}=${fields[name]}`)
    .join('&')
}

export function md5(fields: Fields, key = md5Key): string {
  return createHash('md5')
    .update(textToSign(fields) + key)
    .digest('hex')
}

export function rsa(fields: Fields, { privateKey } = siteKeys): string {
  return sign('sha256', Buffer.from(textToSign(fields)), privateKey).toString('base64')
}

export function isSigned(fields: Fields, version: 1 | 2, now: number): boolean {
  const { sign: signature = '', sign_type: type, timestamp, pid: merchant } = fields
  if (merchant !== pid) return false
  if (version === 1) return type === 'MD5' && signature === md5(fields)
  if (type !== 'RSA' || Math.abs(Number(timestamp) - now / 1000) > 300) return false
  return verify(
    'sha256',
    Buffer.from(textToSign(fields)),
    merchantKeys.publicKey,
    Buffer.from(signature, 'base64'),
  )
}

export function yuan(minor: bigint): string {
  const text = String(minor).padStart(3, '0')
  return `${text.slice(0, -2)}.${text.slice(-2)}`
}

export function fen(text: string): bigint {
  return BigInt(text.replace('.', ''))
}

/** As sites of this protocol write it: Beijing's time. */
export function siteTime(at: number): string {
  return new Date(at + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
}

export interface SiteOrder {
  readonly id: string
  readonly tradeNo: string
  readonly type: string
  readonly noticeUrl: string
  readonly addedAt: number
  pid: string
  moneyMinor: bigint
  paidAt: number | null
  refundedMinor: bigint
  isClosed: boolean
}

export interface SiteRefund {
  readonly id: string
  readonly reference: string
  readonly order: string
  readonly moneyMinor: bigint
  status: '0' | '1' | '2'
}

let lastNumber = 2026_0806_1513_4302_1000n

/** Longer than what a JavaScript number holds. */
export function nextNumber(): string {
  lastNumber += 1n
  return String(lastNumber)
}

export class EpayState {
  readonly orders = new Map<string, SiteOrder>()
  readonly refunds = new Map<string, SiteRefund>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  add(id: string, { type = 'alipay', money = '', notify_url: noticeUrl = '' }: Fields): SiteOrder {
    const order: SiteOrder = this.orders.get(id) ?? {
      id,
      tradeNo: nextNumber(),
      type,
      noticeUrl,
      addedAt: this.#now(),
      pid,
      moneyMinor: fen(money),
      paidAt: null,
      refundedMinor: 0n,
      isClosed: false,
    }
    this.orders.set(id, order)
    return order
  }

  pay(id: string, { amountMinor, merchant, transaction }: PaymentChanges): SiteOrder {
    const known = this.orders.get(id) ?? this.add(id, { money: yuan(amountMinor ?? 0n) })
    const order = {
      ...known,
      paidAt: this.#now(),
      pid: merchant ?? known.pid,
      moneyMinor: amountMinor ?? known.moneyMinor,
      tradeNo: transaction ?? known.tradeNo,
    }
    this.orders.set(id, order)
    return order
  }

  /** Whether the payment has that much left. */
  refund(order: SiteOrder, moneyMinor: bigint): boolean {
    if (order.paidAt === null || order.refundedMinor + moneyMinor > order.moneyMinor) return false
    order.refundedMinor += moneyMinor
    return true
  }

  get payments(): readonly GenuinePayment[] {
    return [...this.orders.values()]
      .filter(({ paidAt }) => paidAt !== null)
      .map(({ id, tradeNo, moneyMinor, refundedMinor }) => ({
        order: id,
        transaction: tradeNo,
        amountMinor: moneyMinor,
        refundedMinor,
      }))
  }
}
