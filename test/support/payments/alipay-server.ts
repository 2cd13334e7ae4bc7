/** Alipay as the tests script it: a gateway that checks and makes RSA2 signatures, bills, and its notices. */
import { sign, verify, type KeyObject } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import type { PaymentMethod } from '../../../src/payments/payment-method.ts'
import type { AlipayCertificates } from './alipay-certificates.ts'
import { LoopbackServer } from './loopback-server.ts'
import { alipayKeys, appKeys } from './alipay-keys.ts'
import { alipayCalls, type AlipayFields } from './alipay-calls.ts'
import {
  AlipayTrades,
  beijingText,
  NoResponseError,
  refundedOf,
  RefusedCallError,
  yuan,
  type AlipayTrade,
} from './alipay-trades.ts'
import type {
  GenuinePayment,
  NoticeFault,
  PaymentChanges,
  ProviderFaults,
  ScriptedNotice,
  ScriptedProvider,
} from './scripted-provider.ts'

export const appId = '2021000000000001'
export const sellerId = '2088000000000001'

const spki = (key: KeyObject): string => key.export({ format: 'der', type: 'spki' }).toString('base64')

/** The text that Alipay signs and verifies; written apart from the relay's, so that one checks the other. */
function signedForm(form: ReadonlyMap<string, string>, without: readonly string[]): string {
  const names = [...form.keys()].filter((name) => !without.includes(name) && form.get(name) !== '')
  return names
    .toSorted()
    .map((name) => `${name}=${form.get(name)}`)
    .join('&')
}

const signAs = (key: KeyObject, content: string): string =>
  sign('RSA-SHA256', Buffer.from(content), key).toString('base64')

export class AlipayServer implements ScriptedProvider {
  readonly method = 'alipay'
  faults: ProviderFaults = {}
  /** The contract that the app has for QR codes. */
  qrProduct = 'QR_CODE_OFFLINE'
  /** Every call is refused with this code. */
  refusal: string | null = null
  /** Where bills are; null: here. */
  billAddress: string | null = null
  readonly trades: AlipayTrades
  /** Every call with its fields, the newest last. */
  readonly calls: { readonly method: string; readonly form: ReadonlyMap<string, string> }[] = []
  readonly #now: () => number
  readonly #certificates: AlipayCertificates | null
  readonly #server: LoopbackServer

  private constructor(now: () => number, certificates: AlipayCertificates | null) {
    this.#now = now
    this.#certificates = certificates
    this.trades = new AlipayTrades(sellerId, now)
    this.#server = new LoopbackServer((request, response) => void this.#serve(request, response))
  }

  /** `certificates`: the relay uses the certificate mode. */
  static async start(
    now: () => number = Date.now,
    certificates: AlipayCertificates | null = null,
  ): Promise<AlipayServer> {
    const server = new AlipayServer(now, certificates)
    await server.#server.listen()
    return server
  }

  get url(): string {
    return this.#server.url
  }

  get settings(): Readonly<Record<string, string>> {
    const keys: Record<string, string> = this.#certificates?.settings ?? {
      ALIPAY_PRIVATE_KEY: appKeys.privateKey.export({ format: 'der', type: 'pkcs1' }).toString('base64'),
      ALIPAY_PUBLIC_KEY: spki(alipayKeys.publicKey),
    }
    return {
      ALIPAY_APP_ID: appId,
      ALIPAY_SELLER_ID: sellerId,
      ...keys,
      ALIPAY_PRODUCTS: 'qr,page',
      ALIPAY_BASE: `${this.url}/gateway.do`,
      PAYMENT_ALLOW: '127.0.0.1',
    }
  }

  get orders(): readonly string[] {
    return [...this.trades.all.keys()]
  }

  get payments(): readonly GenuinePayment[] {
    return this.trades.payments
  }

  pay(order: string, changes: PaymentChanges = {}): string {
    return this.trades.pay(order, changes).transaction
  }

  /** The payer has scanned the code or signed in, and has not paid. */
  scan(order: string): void {
    const trade = this.trades.all.get(order)
    if (trade !== undefined) trade.status ??= 'WAIT_BUYER_PAY'
  }

  refundElsewhere(order: string, amountMinor: bigint): string {
    const trade = this.trades.find(order)
    const number = `EXT${trade.refunds.length + 1}${trade.transaction}`
    this.trades.refund(trade, number, amountMinor, 'done')
    return number
  }

  finishRefunds(): void {
    for (const { refunds } of this.trades.all.values()) for (const refund of refunds) refund.state = 'done'
  }

  notice(order: string, fault?: NoticeFault): ScriptedNotice {
    return this.signedNotice(noticeFields(this.trades.find(order), this.#now()), fault)
  }

  refundNotice(number: string): ScriptedNotice {
    const trades = [...this.trades.all.values()]
    const trade = trades.find(({ refunds }) => refunds.some((refund) => refund.number === number))
    if (trade === undefined) throw new Error(`Alipay knows no refund ${number}`)
    return this.signedNotice({
      ...noticeFields(trade, this.#now()),
      refund_fee: yuan(refundedOf(trade)),
      gmt_refund: `${beijingText(this.#now())}.123`,
      out_biz_no: number,
    })
  }

  /** A notice with any fields. */
  signedNotice(fields: AlipayFields, fault?: NoticeFault): ScriptedNotice {
    const key = fault === 'wrong-key' ? appKeys.privateKey : alipayKeys.privateKey
    const form = new URLSearchParams({ ...fields, sign_type: 'RSA2' })
    const signature = signAs(key, signedForm(new Map(form), ['sign_type']))
    if (fault !== 'no-signature') form.set('sign', signature)
    if (fault === 'altered-body') form.set('total_amount', '99999.00')
    if (fault === 'repeated-field') form.append('out_trade_no', fields['out_trade_no'] ?? '')
    return {
      method: 'POST',
      query: '',
      headers: { 'content-type': 'application/x-www-form-urlencoded; text/html; charset=utf-8' },
      body: form.toString(),
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url)
    try {
      if (url.pathname === '/bill') {
        this.#serveBill(url.searchParams.get('day') ?? '', response)
        return
      }
      const form = new Map([...url.searchParams, ...new URLSearchParams(await text(request))])
      const body = await this.#responseTo(form)
      const status = body.startsWith('<h1>502') ? 502 : 200
      response.writeHead(status, { 'content-type': 'text/html;charset=utf-8' }).end(body)
    } catch (error) {
      if (!(error instanceof NoResponseError)) throw error
      request.socket.destroy()
    }
  }

  #serveBill(day: string, response: ServerResponse): void {
    const archive = this.trades.bill(day) ?? Buffer.alloc(0)
    const { bill } = this.faults
    if (bill === 'wrong-hash') archive.writeUInt8(archive.readUInt8(100) ^ 1, 100)
    const cut = bill === 'short' ? archive.subarray(0, archive.length - 40) : archive
    response.writeHead(200).end(bill === 'html' ? '<html>Busy</html>' : cut)
  }

  async #responseTo(form: ReadonlyMap<string, string>): Promise<string> {
    const method = form.get('method') ?? ''
    this.calls.push({ method, form })
    const problem = this.#problemOf(form)
    if (problem !== null) {
      const name = problem === 'isv.invalid-signature' ? nameOf(method) : 'error_response'
      return JSON.stringify({ [name]: { code: '40002', msg: 'Invalid Arguments', sub_code: problem } })
    }
    const content = JSON.parse(form.get('biz_content') ?? '{}') as AlipayFields
    const fields = await this.#call(method, form, content)
    if (method === 'alipay.trade.page.pay') return '<html>Alipay</html>'
    const { query } = this.faults
    const isQuery = method === 'alipay.trade.query'
    if (isQuery && query === 'timeout') throw new NoResponseError()
    if (isQuery && query === 'html') return '<html>Busy</html>'
    if (isQuery && query === 'server-error') return '<h1>502 Bad Gateway</h1>'
    return this.#signed(nameOf(method), fields, isQuery ? query : undefined)
  }

  /** As Alipay writes JSON: with escaped slashes, which belong to what is signed. */
  #signed(name: string, fields: AlipayFields, fault: ProviderFaults['query']): string {
    const inner = JSON.stringify(fields).replaceAll('/', String.raw`\/`)
    const key = fault === 'bad-signature' ? appKeys.privateKey : alipayKeys.privateKey
    const certificate =
      this.#certificates === null ? '' : `"alipay_cert_sn":"${this.#certificates.alipayNumber}",`
    const signature = fault === 'unsigned' ? '' : `,${certificate}"sign":"${signAs(key, inner)}"`
    return `{"${name}":${inner}${signature}}`
  }

  /** What the gateway says before it looks at the call. */
  #problemOf(form: ReadonlyMap<string, string>): string | null {
    if (form.get('app_id') !== appId) return 'isv.invalid-app-id'
    const age = Math.abs(Date.parse(`${form.get('timestamp')?.replace(' ', 'T')}+08:00`) - this.#now())
    if (!(age < 600_000)) return 'isv.invalid-timestamp'
    const numbers = this.#certificates
    if (numbers !== null && form.get('app_cert_sn') !== numbers.appNumber) return 'isv.app-cert-sn-error'
    if (numbers !== null && form.get('alipay_root_cert_sn') !== numbers.rootNumber)
      return 'isv.root-cert-sn-error'
    const [signed, signature] = [
      Buffer.from(signedForm(form, ['sign'])),
      Buffer.from(form.get('sign') ?? '', 'base64'),
    ]
    const isGenuine = verify('RSA-SHA256', signed, appKeys.publicKey, signature)
    return isGenuine && form.get('sign_type') === 'RSA2' ? null : 'isv.invalid-signature'
  }

  async #call(
    method: string,
    form: ReadonlyMap<string, string>,
    content: AlipayFields,
  ): Promise<AlipayFields> {
    try {
      if (this.refusal !== null) throw new RefusedCallError(this.refusal)
      const call = alipayCalls[method]
      if (call === undefined) return { code: '40004', msg: 'Business Failed', sub_code: 'isv.invalid-method' }
      return { code: '10000', msg: 'Success', ...(await call(this, content, form)) }
    } catch (error) {
      if (!(error instanceof RefusedCallError)) throw error
      return { code: '40004', msg: 'Business Failed', sub_code: error.message, sub_msg: '…' }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}

const nameOf = (method: string): string => `${method.replaceAll('.', '_')}_response`

function noticeFields(trade: AlipayTrade, now: number): AlipayFields {
  return {
    app_id: appId,
    buyer_id: '2088102116773037',
    charset: 'utf-8',
    gmt_payment: beijingText(trade.paidAt ?? now),
    notify_id: '4a91b7a78a503640467525113fb7d8bg8e',
    notify_time: beijingText(now),
    notify_type: 'trade_status_sync',
    out_trade_no: trade.order,
    receipt_amount: yuan(trade.amountMinor - trade.couponMinor),
    refund_fee: '0.00',
    seller_id: trade.seller,
    subject: '余额 + 充值',
    total_amount: yuan(trade.amountMinor),
    trade_no: trade.transaction,
    trade_status: trade.status ?? 'WAIT_BUYER_PAY',
    version: '1.0',
  }
}

/** The payer opens each link at once, so that Alipay learns of the order. */
export function withPayer(method: PaymentMethod | null): PaymentMethod | null {
  if (method === null) return null
  return {
    ...method,
    async begin(order) {
      const begun = await method.begin(order)
      if (begun.kind === 'begun' && begun.pay.kind === 'redirect') await (await fetch(begun.pay.url)).text()
      return begun
    },
  }
}
