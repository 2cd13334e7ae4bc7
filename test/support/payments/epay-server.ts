/** An epay site (易支付) of the tests' own, in version 1 (MD5) or 2 (RSA). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  EpayState,
  fen,
  isSigned,
  md5,
  md5Key,
  merchantKeys,
  nextNumber,
  otherKeys,
  pid,
  rsa,
  siteKeys,
  siteTime,
  yuan,
  type Fields,
  type SiteOrder,
} from './epay-state.ts'
import { LoopbackServer } from './loopback-server.ts'
import type {
  GenuinePayment,
  NoticeFault,
  PaymentChanges,
  ProviderFaults,
  ScriptedNotice,
  ScriptedProvider,
} from './scripted-provider.ts'

type Row = Record<string, unknown>
/** `lost`: the call was carried out, and its response is lost. */
type SiteResponse = Row | 'lost' | 'html'

const notFound = { code: -1, msg: '订单不存在' }

export class EpayServer implements ScriptedProvider {
  readonly method = 'epay'
  faults: ProviderFaults = {}
  /** Replaces the response to the next queries of an order. */
  orderResponse: ((row: Row) => Row) | null = null
  /** Replaces the response to an order that begins. */
  beginResponse: Row | null = null
  /** Calls that the site does not have. */
  readonly missing = new Set<string>()
  ignoresPage = false
  /** How far this clock is ahead. */
  aheadMs = 0
  readonly state = new EpayState(() => this.now())
  readonly #version: 1 | 2
  readonly #server: LoopbackServer

  private constructor(version: 1 | 2) {
    this.#version = version
    this.#server = new LoopbackServer((request, response) => void this.#serve(request, response))
  }

  static async start(version: 1 | 2 = 1): Promise<EpayServer> {
    const server = new EpayServer(version)
    await server.#server.listen()
    return server
  }

  now(): number {
    return Date.now() + this.aheadMs
  }

  get settings(): Readonly<Record<string, string>> {
    const keys: Fields =
      this.#version === 1
        ? { EPAY_KEY: md5Key }
        : {
            EPAY_PRIVATE_KEY: merchantKeys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
            EPAY_PUBLIC_KEY: siteKeys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
          }
    return {
      ...keys,
      EPAY_BASE: `${this.#server.url}/pay/`,
      EPAY_PID: pid,
      EPAY_TYPES: 'alipay,wxpay',
      PAYMENT_ALLOW: '127.0.0.1',
    }
  }

  get orders(): readonly string[] {
    return [...this.state.orders.keys()]
  }

  get payments(): readonly GenuinePayment[] {
    return this.state.payments
  }

  pay(order: string, changes: PaymentChanges = {}): string {
    return this.state.pay(order, changes).tradeNo
  }

  refundElsewhere(order: string, amountMinor: bigint): string {
    const known = this.state.orders.get(order)
    if (known === undefined || !this.state.refund(known, amountMinor)) throw new Error('No such payment.')
    return nextNumber()
  }

  finishRefunds(): void {
    for (const refund of this.state.refunds.values()) if (refund.status === '0') refund.status = '1'
  }

  notice(id: string, fault?: NoticeFault): ScriptedNotice {
    const order = this.state.orders.get(id)
    if (order === undefined) throw new Error('No such order.')
    const seconds = Math.floor(this.now() / 1000)
    const shift = { old: -301, future: 301 }[fault as string] ?? 0
    const fields: Fields = {
      pid: order.pid,
      trade_no: order.tradeNo,
      out_trade_no: id,
      type: order.type,
      name: 'Balance',
      money: yuan(order.moneyMinor),
      trade_status: 'TRADE_SUCCESS',
      ...(this.#version === 2 ? { timestamp: String(seconds + shift) } : {}),
    }
    const isWrong = fault === 'wrong-key'
    const signature =
      this.#version === 1
        ? md5(fields, isWrong ? 'another key' : md5Key)
        : rsa(fields, isWrong ? otherKeys : siteKeys)
    if (fault === 'altered-body') fields['money'] = '99999.00'
    const query = new URLSearchParams({
      ...fields,
      ...(fault === 'no-signature' ? {} : { sign: signature }),
      sign_type: this.#version === 1 ? 'MD5' : 'RSA',
    })
    if (fault === 'repeated-field') query.append('money', fields['money'] ?? '')
    return { method: 'GET', query: `?${query.toString()}`, headers: {}, body: '' }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://site.example')
    const path = url.pathname.replace(/^\/pay\//, '')
    const form = new URLSearchParams(await text(request))
    const fields: Fields = Object.fromEntries([...url.searchParams, ...form])
    const fault = path.endsWith('query') || fields['act'] === 'order' ? this.faults.query : undefined
    if (this.missing.has(path)) response.writeHead(404).end('<h1>Not found</h1>')
    else if (fault === 'timeout') request.socket.destroy()
    else if (fault === 'html') response.end('<html>维护中</html>')
    else if (fault === 'server-error') response.writeHead(502).end('{"code":-1,"msg":"订单不存在"}')
    else {
      const content = await this.#responseTo(path, fields)
      if (content === 'lost') request.socket.destroy()
      else if (content === 'html') response.end('<html>维护中</html>')
      else response.end(`\uFEFF${JSON.stringify(this.#version === 2 ? this.#signed(content) : content)}`)
    }
  }

  /** Errors are unsigned, as at the real sites. */
  #signed(row: Row): Row {
    if (row['code'] !== 0) return row
    const dated = { ...row, timestamp: String(Math.floor(this.now() / 1000)) }
    const scalars = Object.entries(dated).filter(([, value]) => typeof value !== 'object')
    const fields = Object.fromEntries(scalars.map(([name, value]) => [name, String(value)]))
    const { query } = this.faults
    if (query === 'unsigned') return dated
    return { ...dated, sign: rsa(fields, query === 'bad-signature' ? otherKeys : siteKeys), sign_type: 'RSA' }
  }

  async #responseTo(path: string, fields: Fields): Promise<SiteResponse> {
    const call = this.#version === 1 ? (fields['act'] ?? path) : path
    if (call !== 'mapi.php' && this.#version === 1) {
      if (fields['pid'] !== pid) return { code: -3, msg: '商户ID不存在' }
      if (fields['key'] !== md5Key) return { code: -3, msg: '商户密钥错误' }
    } else if (!isSigned(fields, this.#version, this.now())) return { code: -3, msg: '签名校验失败' }
    switch (call) {
      case 'mapi.php':
      case 'api/pay/create':
        return await this.#begin(fields)
      case 'order':
      case 'api/pay/query':
        return this.#query(fields['out_trade_no'] ?? '')
      case 'refund':
      case 'api/pay/refund':
        return this.#refund(fields)
      case 'api/pay/refundquery':
        return this.#queryRefund(fields['out_refund_no'] ?? '')
      case 'api/pay/close':
        return this.#close(fields['out_trade_no'] ?? '')
      case 'query':
        return { code: 1, pid: Number(pid), key: md5Key, active: 1, money: '0.00' }
      default:
        return this.#list(fields)
    }
  }

  async #begin(fields: Fields): Promise<SiteResponse> {
    const { create } = this.faults
    if (create === 'unreachable') return 'lost'
    const id = fields['out_trade_no'] ?? ''
    const isPaid = (this.state.orders.get(id)?.paidAt ?? null) !== null
    if (create === 'refused' || isPaid) return { code: -1, msg: '该支付方式已关闭' }
    const order = this.state.add(id, fields)
    if (create === 'notice-first') {
      this.pay(id)
      await fetch(`${order.noticeUrl}${this.notice(id).query}`)
    }
    const qr = `weixin://wxpay/bizpayurl?pr=${order.tradeNo}`
    const pay = this.#version === 1 ? { code: 1, qrcode: qr } : { code: 0, pay_type: 'qrcode', pay_info: qr }
    const isPage = fields['method'] === 'jump'
    const page = { code: 0, pay_type: 'jump', pay_info: `/pay/qrcode/${order.tradeNo}/` }
    return { ...(isPage ? page : (this.beginResponse ?? pay)), trade_no: order.tradeNo }
  }

  #row(order: SiteOrder): Row {
    const code = this.#version === 1 ? 1 : 0
    const { id, tradeNo, type, moneyMinor, addedAt, paidAt } = order
    return {
      code,
      msg: '查询订单号成功！',
      trade_no: tradeNo,
      out_trade_no: id,
      type,
      pid: order.pid,
      addtime: siteTime(addedAt),
      endtime: paidAt === null ? null : siteTime(paidAt),
      name: 'Balance',
      money: yuan(moneyMinor),
      status: paidAt === null ? 0 : 1,
      buyer: paidAt === null ? '' : 'buyer-1',
    }
  }

  #query(id: string): SiteResponse {
    const order = this.state.orders.get(id)
    if (order === undefined) return notFound
    if (this.faults.query === 'flapping') {
      this.faults = {}
      return this.#row({ ...order, paidAt: null })
    }
    return this.orderResponse?.(this.#row(order)) ?? this.#row(order)
  }

  #close(id: string): SiteResponse {
    const order = this.state.orders.get(id)
    const { close } = this.faults
    if (close === 'timeout') return 'lost'
    if (order === undefined) return notFound
    if (close === 'says-paid') this.pay(id)
    if (this.state.orders.get(id)?.paidAt !== null) return { code: -1, msg: '订单已支付' }
    order.isClosed = true
    return { code: 0, msg: '关闭成功' }
  }

  #refund(fields: Fields): SiteResponse {
    const { refund: fault } = this.faults
    if (fault === 'refused') return { code: -1, msg: '商户余额不足' }
    const { out_trade_no: id = '', out_refund_no: number = '', money = '' } = fields
    const order = this.state.orders.get(id)
    if (order?.tradeNo !== fields['trade_no'] || order === undefined) return notFound
    const isKnown = number !== '' && this.state.refunds.has(number)
    if (!isKnown && !this.state.refund(order, fen(money))) return { code: -1, msg: '退款金额超过订单金额' }
    if (number !== '' && !isKnown) {
      const status = ({ processing: '0', abnormal: '2' } as const)[fault as 'processing' | 'abnormal'] ?? '1'
      const refund = { id: number, reference: nextNumber(), order: id, moneyMinor: fen(money), status }
      this.state.refunds.set(number, refund)
    }
    if (fault === 'timeout') return 'lost'
    if (fault === 'abnormal' && this.#version === 1) return 'html'
    const isOdd = fault === 'odd-code'
    if (this.#version === 1) return { code: isOdd ? 0 : 1, msg: '退款成功！' }
    return { code: isOdd ? 1 : 0, msg: '退款成功！', out_refund_no: number, money }
  }

  #queryRefund(number: string): SiteResponse {
    const refund = this.state.refunds.get(number)
    if (refund === undefined) return { code: -1, msg: '退款订单不存在' }
    const { id, reference, order, moneyMinor, status } = refund
    return {
      code: 0,
      refund_no: reference,
      out_refund_no: id,
      out_trade_no: order,
      money: yuan(moneyMinor),
      status,
    }
  }

  #list({ page, limit = '50', offset }: Fields): SiteResponse {
    const { bill } = this.faults
    if (bill === 'missing') return { code: -1, msg: '系统繁忙' }
    if (bill === 'html') return 'html'
    const start = offset === undefined ? (Number(page) - 1) * Number(limit) : Number(offset)
    const newestFirst = [...this.state.orders.values()].toReversed().slice(this.ignoresPage ? 0 : start)
    const data = newestFirst.slice(0, Number(limit)).map((order) => this.#row(order))
    return { code: this.#version === 1 ? 1 : 0, msg: '查询成功', data }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
