/** The calls of WeChat Pay's API that a relay makes, as the scripted one responds to them. */
import { createHash } from 'node:crypto'

import { sealResource, type PlatformCertificate } from './wechat-keys.ts'
import { billOf } from './wechat-bill.ts'
import {
  appid,
  mchid,
  NoResponseError,
  RefusedCallError,
  type WechatOrder,
  type WechatOrders,
  type WechatRefund,
} from './wechat-orders.ts'
import type { ScriptedProvider } from './scripted-provider.ts'

export interface WechatCall {
  readonly method: string
  readonly url: URL
  /** Of a POST. */
  readonly body: unknown
}

/** What the calls use of the server. */
interface CalledServer extends Pick<ScriptedProvider, 'faults' | 'notice' | 'pay'> {
  readonly url: string
  readonly billHost: string | null
  readonly book: WechatOrders
  readonly certificates: readonly PlatformCertificate[]
  countCertificateList(): void
  newCode(): string
  now(): number
}

type Handler = (
  server: CalledServer,
  call: WechatCall,
  name: string,
) => Promise<object | null> | object | null

interface NativeBody {
  readonly appid: string
  readonly mchid: string
  readonly description: string
  readonly out_trade_no: string
  readonly time_expire: string
  readonly notify_url: string
  readonly amount: { readonly total: number; readonly currency: string }
}

interface RefundBody {
  readonly transaction_id?: string
  readonly out_trade_no?: string
  readonly out_refund_no: string
  readonly reason: string
  readonly amount: { readonly refund: number; readonly total: number; readonly currency: string }
}

/** By method and path; the group is the number that the path names. null: 204 without a body. */
export const wechatCalls: readonly (readonly [RegExp, Handler])[] = [
  [/^GET \/v3\/certificates$/, listCertificates],
  [/^POST \/v3\/pay\/transactions\/native$/, begin],
  [/^GET \/v3\/pay\/transactions\/out-trade-no\/([\w|*-]{6,32})$/, read],
  [/^POST \/v3\/pay\/transactions\/out-trade-no\/([\w|*-]{6,32})\/close$/, close],
  [/^POST \/v3\/refund\/domestic\/refunds$/, refund],
  [/^GET \/v3\/refund\/domestic\/refunds\/([\w|*@-]{1,64})$/, readRefund],
  [/^GET \/v3\/bill\/tradebill$/, findBill],
]

function requireValid(isValid: boolean): void {
  if (!isValid) throw new RefusedCallError(400, 'PARAM_ERROR')
}

function listCertificates(server: CalledServer): object {
  server.countCertificateList()
  if (server.certificates.length === 0) throw new RefusedCallError(404, 'RESOURCE_NOT_EXISTS')
  const data = server.certificates.map(({ serial, pem }) => ({
    serial_no: serial,
    effective_time: '2026-01-01T00:00:00+08:00',
    expire_time: '2031-01-01T00:00:00+08:00',
    encrypt_certificate: sealResource(pem, 'certificate'),
  }))
  return { data }
}

async function begin(server: CalledServer, { body }: WechatCall): Promise<object> {
  const { create } = server.faults
  if (create === 'unreachable') throw new NoResponseError()
  if (create === 'refused') throw new RefusedCallError(403, 'NO_AUTH')
  const order = body as NativeBody
  requireValid(order.appid === appid && order.mchid === mchid)
  requireValid(/^[\w|*-]{6,32}$/.test(order.out_trade_no))
  requireValid(order.description.length <= 127 && order.notify_url.length <= 255)
  requireValid(/^https?:\/\/[^?#]+$/.test(order.notify_url))
  requireValid(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$/.test(order.time_expire))
  requireValid(Date.parse(order.time_expire) >= server.now() + 60_000)
  const { total, currency } = order.amount
  requireValid(Number.isInteger(total) && total > 0 && currency === 'CNY')
  server.book.begin(order.out_trade_no, BigInt(total), order.notify_url)
  if (create === 'notice-first') {
    server.pay(order.out_trade_no)
    const { method, headers, body: notice } = server.notice(order.out_trade_no)
    await fetch(order.notify_url, { method, headers, body: notice })
  }
  return { code_url: `weixin://wxpay/bizpayurl?pr=${server.newCode()}` }
}

function read(server: CalledServer, { url }: WechatCall, name: string): object {
  requireValid(url.searchParams.get('mchid') === mchid)
  const { query } = server.faults
  if (query === 'timeout') throw new NoResponseError()
  const order = server.book.find(name)
  if (query !== 'flapping') return transactionOf(order)
  server.faults = {}
  return transactionOf({ ...order, state: 'NOTPAY', paidAt: null })
}

/** Also what the encrypted part of a notice says. */
export function transactionOf(order: WechatOrder): object {
  const common = { appid: order.appid, mchid: order.mchid, out_trade_no: order.order }
  const state = { trade_state: order.state, trade_state_desc: '…' }
  if (order.paidAt === null) return { ...common, ...state, payer: {} }
  return {
    ...common,
    ...state,
    transaction_id: order.transaction,
    trade_type: 'NATIVE',
    bank_type: 'OTHERS',
    success_time: new Date(order.paidAt).toISOString().replace('Z', '+00:00'),
    payer: { openid: 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o' },
    amount: {
      total: Number(order.amountMinor),
      payer_total: Number(order.amountMinor - order.couponMinor),
      currency: order.currency,
      payer_currency: order.currency,
    },
  }
}

function close(server: CalledServer, { body }: WechatCall, name: string): null {
  requireValid((body as { mchid?: unknown }).mchid === mchid)
  if (server.faults.close === 'timeout') throw new NoResponseError()
  const order = server.book.find(name)
  if (server.faults.close === 'says-paid') server.pay(name)
  server.book.close(order)
  return null
}

const refundStatuses = { processing: 'PROCESSING', abnormal: 'ABNORMAL' } as const

function refund(server: CalledServer, { body }: WechatCall): object {
  const { refund: fault } = server.faults
  if (fault === 'refused') throw new RefusedCallError(400, 'INVALID_REQUEST')
  if (fault === 'odd-code') throw new RefusedCallError(403, 'NOT_ENOUGH')
  const wanted = body as RefundBody
  const name = wanted.transaction_id ?? wanted.out_trade_no ?? ''
  const { refund: amount, total, currency } = wanted.amount
  requireValid(Number.isInteger(amount) && amount > 0 && currency === 'CNY' && wanted.reason.length <= 80)
  const known = server.book.all.values().find(({ order, transaction }) => [order, transaction].includes(name))
  if (known !== undefined && Number(known.amountMinor) !== total)
    throw new RefusedCallError(400, 'INVALID_REQUEST')
  const made = server.book.refund(name, {
    number: wanted.out_refund_no,
    amountMinor: BigInt(amount),
    status: fault === 'processing' || fault === 'abnormal' ? refundStatuses[fault] : 'SUCCESS',
  })
  if (fault === 'timeout') throw new NoResponseError()
  return readRefund(server, { method: 'GET', url: new URL(server.url), body: {} }, made.number)
}

function readRefund(server: CalledServer, _call: WechatCall, number: string): object {
  const [order, found] = server.book.findRefund(number)
  return { status: found.status, ...refundOf(order, found) }
}

export function refundOf(order: WechatOrder, { number, reference, amountMinor }: WechatRefund) {
  return {
    refund_id: reference,
    out_refund_no: number,
    transaction_id: order.transaction,
    out_trade_no: order.order,
    amount: { total: Number(order.amountMinor), refund: Number(amountMinor), currency: order.currency },
  }
}

function findBill(server: CalledServer, { url }: WechatCall): object {
  requireValid(url.searchParams.get('bill_type') === 'ALL')
  if (server.faults.bill === 'missing') throw new RefusedCallError(400, 'STATEMENT_CREATING')
  const day = url.searchParams.get('bill_date') ?? ''
  const bill = billOf(server.book.all.values(), day)
  if (bill === null) throw new RefusedCallError(400, 'NO_STATEMENT_EXIST')
  return {
    hash_type: 'SHA1',
    hash_value: createHash('sha1').update(bill).digest('hex'),
    download_url: `${server.billHost ?? server.url}/v3/billdownload/file?token=${day}`,
  }
}
