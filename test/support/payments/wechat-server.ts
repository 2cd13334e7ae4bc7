/** WeChat Pay as the tests script it: an API that checks and makes signatures, its certificates, bills and notices. */
import { randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import type {
  GenuinePayment,
  NoticeFault,
  PaymentChanges,
  ProviderFaults,
  ScriptedNotice,
  ScriptedProvider,
} from './scripted-provider.ts'
import { LoopbackServer } from './loopback-server.ts'
import { billOf } from './wechat-bill.ts'
import { refundOf, transactionOf, wechatCalls } from './wechat-calls.ts'
import {
  makePlatformCertificate,
  merchantKeys,
  publicKeyPair,
  sealResource,
  v3Key,
  type PlatformCertificate,
} from './wechat-keys.ts'
import { appid, mchid, NoResponseError, RefusedCallError, WechatOrders } from './wechat-orders.ts'

/** What a merchant has: only the public key, as new ones, only certificates, as old ones, or both. */
export type WechatMode = 'public-key' | 'certificates' | 'both'

export const merchantSerial = '3775B6A45ACD588826D15E583A95F5DD00000001'
export const publicKeyId = 'PUB_KEY_ID_0119000000012026113000000000000001'

interface Signer {
  readonly serial: string
  readonly privateKey: KeyObject
}

const publicKeySigner: Signer = { serial: publicKeyId, privateKey: publicKeyPair.privateKey }

export class WechatServer implements ScriptedProvider {
  readonly method = 'wechat'
  faults: ProviderFaults = {}
  /** Signs notices, and responses to requests that name no key. */
  signer: Signer
  readonly certificates: PlatformCertificate[]
  /** How often the list of certificates was asked for. */
  certificateLists = 0
  /** The list of certificates has a signature that is not WeChat Pay's. */
  signsListsWrong = false
  /** Of every call that had one, the newest last. */
  readonly bodies: object[] = []
  /** Every call is refused with this status and code. */
  refusal: readonly [number, string] | null = null
  /** How far this clock is ahead. */
  aheadMs = 0
  /** Where bills are; null: here. */
  billHost: string | null = null
  /** The header `Authorization` of the last request for a bill. */
  lastDownload = ''
  readonly book: WechatOrders
  readonly #mode: WechatMode
  readonly #listed: (() => void)[] = []
  readonly #server: LoopbackServer

  private constructor(mode: WechatMode) {
    this.#mode = mode
    this.certificates = mode === 'public-key' ? [] : [makePlatformCertificate()]
    this.signer = mode === 'certificates' ? this.#newestCertificate : publicKeySigner
    this.book = new WechatOrders(() => this.now())
    this.#server = new LoopbackServer((request, response) => void this.#serve(request, response))
  }

  static async start(mode: WechatMode = 'public-key'): Promise<WechatServer> {
    const server = new WechatServer(mode)
    await server.#server.listen()
    return server
  }

  now(): number {
    return Date.now() + this.aheadMs
  }

  newCode(): string {
    return randomBytes(6).toString('base64url')
  }

  get url(): string {
    return this.#server.url
  }

  get settings(): Readonly<Record<string, string>> {
    const publicKey = {
      WECHAT_PUBLIC_KEY_ID: publicKeyId,
      WECHAT_PUBLIC_KEY: String(publicKeyPair.publicKey.export({ format: 'pem', type: 'spki' })),
    }
    return {
      WECHAT_MCHID: mchid,
      WECHAT_APPID: appid,
      WECHAT_SERIAL: merchantSerial,
      WECHAT_PRIVATE_KEY: String(merchantKeys.privateKey.export({ format: 'pem', type: 'pkcs8' })),
      WECHAT_V3_KEY: v3Key,
      ...(this.#mode === 'certificates' ? {} : publicKey),
      WECHAT_BASE: this.url,
      PAYMENT_ALLOW: '127.0.0.1',
    }
  }

  get orders(): readonly string[] {
    return [...this.book.all.keys()]
  }

  get payments(): readonly GenuinePayment[] {
    return this.book.payments
  }

  /** Resolves when the list of certificates is asked for the next time. */
  nextCertificateList(): Promise<void> {
    return new Promise((resolve) => this.#listed.push(resolve))
  }

  countCertificateList(): void {
    this.certificateLists += 1
    for (const resolve of this.#listed.splice(0)) resolve()
  }

  /** A new certificate, which signs from now on. */
  rotate(): void {
    this.certificates.push(makePlatformCertificate())
    this.signer = this.#newestCertificate
  }

  get #newestCertificate(): Signer {
    return this.certificates.at(-1) ?? publicKeySigner
  }

  pay(order: string, changes: PaymentChanges = {}): string {
    return this.book.pay(order, changes).transaction
  }

  refundElsewhere(order: string, amountMinor: bigint): string {
    const number = `EXT${randomBytes(8).toString('hex')}`
    return this.book.refund(order, { number, amountMinor, status: 'SUCCESS' }).reference
  }

  finishRefunds(): void {
    for (const { refunds } of this.book.all.values())
      for (const refund of refunds) if (refund.status === 'PROCESSING') refund.status = 'SUCCESS'
  }

  notice(order: string, fault?: NoticeFault): ScriptedNotice {
    return this.signedNotice('TRANSACTION.SUCCESS', transactionOf(this.book.find(order)), fault)
  }

  refundNotice(name: string): ScriptedNotice {
    const [order, refund] = this.book.findRefund(name)
    const fields = { mchid: order.mchid, refund_status: refund.status, ...refundOf(order, refund) }
    return this.signedNotice('REFUND.SUCCESS', fields)
  }

  /** A notice with any event and fields. */
  signedNotice(event: string, fields: object, fault?: NoticeFault): ScriptedNotice {
    const kind = event.startsWith('REFUND') ? 'refund' : 'transaction'
    const body = JSON.stringify({
      id: `EV-${randomBytes(8).toString('hex')}`,
      create_time: new Date(this.now()).toISOString(),
      resource_type: 'encrypt-resource',
      event_type: event,
      summary: '…',
      resource: { original_type: kind, ...sealResource(JSON.stringify(fields), kind) },
    })
    const sent = fault === 'repeated-field' ? body.replace('{', `{"event_type":"${event}",`) : body
    const offset = { old: -301_000, future: 301_000 }[fault as string] ?? 0
    const headers = this.#signatureOf(sent, { fault, at: this.now() + offset })
    return {
      method: 'POST',
      query: '',
      headers: { 'content-type': 'application/json', ...(fault === 'no-signature' ? {} : headers) },
      body: fault === 'altered-body' ? sent.replace(event, 'TRANSACTION.OTHER') : sent,
    }
  }

  #signatureOf(
    body: string,
    {
      signer = this.signer,
      fault,
      at = this.now(),
    }: { signer?: Signer; fault?: string | undefined; at?: number },
  ): Record<string, string> {
    const [seconds, nonce] = [String(Math.floor(at / 1000)), randomBytes(16).toString('hex')]
    const wrong = fault === 'wrong-key' || fault === 'bad-signature'
    const key = wrong ? merchantKeys.privateKey : signer.privateKey
    const signature = sign('RSA-SHA256', Buffer.from(`${seconds}\n${nonce}\n${body}\n`), key)
    return {
      'Wechatpay-Timestamp': seconds,
      'Wechatpay-Nonce': nonce,
      'Wechatpay-Signature': signature.toString('base64'),
      'Wechatpay-Signature-Type': 'WECHATPAY2-SHA256-RSA2048',
      'Wechatpay-Serial': signer.serial,
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const url = new URL(request.url ?? '', this.url)
    try {
      if (!this.#isSigned(request, body))
        return void response.writeHead(401).end('{"code":"SIGN_ERROR","message":"错误的签名"}')
      if (url.pathname === '/v3/billdownload/file') {
        this.lastDownload = request.headers.authorization ?? ''
        return this.#serveBill(url, response)
      }
      const [status, content] = await this.#responseTo(request.method ?? '', url, body)
      this.#send(request, response, { status, content, isRead: /out-trade-no\/[^/]+$/.test(url.pathname) })
    } catch (error) {
      if (!(error instanceof NoResponseError)) throw error
      request.socket.destroy()
    }
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    { status, content, isRead }: { status: number; content: string; isRead: boolean },
  ): void {
    const isWrongList = this.signsListsWrong && request.url === '/v3/certificates'
    const readFault = isRead ? this.faults.query : undefined
    const fault = isWrongList ? 'bad-signature' : readFault
    if (fault === 'html') return void response.writeHead(200).end('<html>Busy</html>')
    if (fault === 'server-error') return void response.writeHead(502).end('<h1>502 Bad Gateway</h1>')
    const asked = request.headers['wechatpay-serial']
    const signer = asked === publicKeyId && this.#mode !== 'certificates' ? publicKeySigner : this.signer
    const signature = fault === 'unsigned' ? {} : this.#signatureOf(content, { signer, fault })
    response
      .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...signature })
      .end(content)
  }

  async #responseTo(method: string, url: URL, body: string): Promise<readonly [number, string]> {
    try {
      if (this.refusal !== null) throw new RefusedCallError(...this.refusal)
      for (const [pattern, call] of wechatCalls) {
        const match = pattern.exec(`${method} ${url.pathname}`)
        if (match === null) continue
        const fields = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>)
        if (body !== '') this.bodies.push(fields)
        const content = await call(this, { method, url, body: fields }, match[1] ?? '')
        return content === null ? [204, ''] : [200, JSON.stringify(content)]
      }
      return [404, '{"code":"NOT_FOUND","message":"…"}']
    } catch (error) {
      if (!(error instanceof RefusedCallError)) throw error
      return [error.status, JSON.stringify({ code: error.message, message: '…', detail: {} })]
    }
  }

  /** Written apart from the relay's, so that one checks the other. */
  #isSigned(request: IncomingMessage, body: string): boolean {
    const [, fields = ''] = /^WECHATPAY2-SHA256-RSA2048 (.+)$/.exec(request.headers.authorization ?? '') ?? []
    const field = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(fields)?.[1] ?? ''
    const [seconds, nonce] = [field('timestamp'), field('nonce_str')]
    const signed = `${request.method}\n${request.url}\n${seconds}\n${nonce}\n${body}\n`
    return (
      field('mchid') === mchid &&
      field('serial_no') === merchantSerial &&
      Math.abs(Number(seconds) * 1000 - this.now()) <= 300_000 &&
      (request.headers['user-agent'] ?? '') !== '' &&
      verify(
        'RSA-SHA256',
        Buffer.from(signed),
        merchantKeys.publicKey,
        Buffer.from(field('signature'), 'base64'),
      )
    )
  }

  /** Unsigned. */
  #serveBill(url: URL, response: ServerResponse): void {
    const bill = billOf(this.book.all.values(), url.searchParams.get('token') ?? '') ?? ''
    const { bill: fault } = this.faults
    if (fault === 'html') return void response.end('<html>Busy</html>')
    if (fault === 'wrong-hash') return void response.end(bill.replace('10.00', '99.00'))
    response.end(fault === 'short' ? bill.slice(0, -80) : bill)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
