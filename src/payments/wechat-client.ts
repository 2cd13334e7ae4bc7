/** Calls of WeChat Pay's API: each is signed, and no response counts before its signature was verified. */
import { randomBytes } from 'node:crypto'
import type { GuardedResponse } from '../lib/guarded-http.ts'
import { version } from '../lib/version.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { ProviderError } from './payment-method.ts'
import { WechatKeys } from './wechat-keys.ts'
import { WechatObject } from './wechat-object.ts'
import type { WechatSettings } from './wechat-settings.ts'
import { authorizationOf, type SignedMessage } from './wechat-signature.ts'

/** A verified response. WeChat Pay has carried out the call, or refused it for good (`refusal`). */
export interface WechatResult {
  readonly status: number
  /** Such as `ORDER_NOT_EXIST`; null: carried out. */
  readonly refusal: string | null
  /** Without fields where the response has no body. */
  readonly fields: WechatObject
}

interface WechatCall {
  readonly method: 'GET' | 'POST'
  /** With the query. */
  readonly path: string
  /** Of a POST. */
  readonly body?: object
}

const codePattern = /^[A-Z_]{1,64}$/

export class WechatClient {
  readonly settings: WechatSettings
  readonly keys: WechatKeys
  readonly #deps: PaymentMethodDeps

  constructor(settings: WechatSettings, deps: PaymentMethodDeps) {
    this.settings = settings
    this.#deps = deps
    this.keys = new WechatKeys({
      settings,
      now: deps.now,
      fetchList: async () => {
        const { status, headers, body } = await this.#send({ method: 'GET', path: '/v3/certificates' })
        return { status, message: signedMessageOf((name) => headers[name], body) }
      },
    })
  }

  /** Throws a `ProviderError` without a verified response that says what became of the call. */
  async call(call: WechatCall): Promise<WechatResult> {
    const { status, headers, body } = await this.#send(call)
    const fields = WechatObject.parse(body.length === 0 ? Buffer.from('{}') : body)
    const code = fields?.text('code') ?? ''
    const responded = `WeChat Pay responded with ${status}${codePattern.test(code) ? ` (${code})` : ''}`
    // None of these says whether the call was carried out: too many calls, wrong keys, an error of the system.
    if (status === 401 || status === 429 || status >= 500) throw new ProviderError(`${responded}.`)
    const problem = await this.keys.problemOf(signedMessageOf((name) => headers[name], body))
    if (problem !== null) throw new ProviderError(`${responded}, and the response ${problem}.`)
    if (fields === null) throw new ProviderError(`${responded}, and the response is no JSON object.`)
    if (status === 200 || status === 204) return { status, refusal: null, fields }
    if (status < 400 || !codePattern.test(code)) throw new ProviderError(`${responded}.`)
    return { status, refusal: code, fields }
  }

  /** A file of WeChat Pay's, whose response is unsigned. Throws a `ProviderError` if there is none. */
  async download(url: string, maxBytes: number): Promise<Buffer> {
    const { origin, pathname, search } = new URL(url)
    const response = await this.#send({ method: 'GET', path: pathname + search }, { base: origin, maxBytes })
    if (response.status !== 200)
      throw new ProviderError(`WeChat Pay responded to the download with ${response.status}.`)
    return response.body
  }

  #send(
    { method, path, body }: WechatCall,
    options: { readonly base?: string; readonly maxBytes?: number } = {},
  ): Promise<GuardedResponse> {
    const { base = this.settings.base, maxBytes } = options
    const { publicKeys } = this.settings
    const text = body === undefined ? '' : JSON.stringify(body)
    const seconds = String(Math.floor(this.#deps.now() / 1000))
    const nonce = randomBytes(16).toString('hex').toUpperCase()
    const [publicKeyId] = publicKeys.keys()
    return this.#deps.http.request({
      method,
      url: new URL(path, base).href,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': `sluice/${version}`,
        authorization: authorizationOf({ method, path, seconds, nonce, body: text }, this.settings),
        // WeChat Pay signs its response with the key that is named; without one, with a platform certificate.
        ...(publicKeyId === undefined ? {} : { 'wechatpay-serial': publicKeyId }),
      },
      body: body === undefined ? null : text,
      ...(maxBytes === undefined ? {} : { maxBytes }),
    })
  }
}

/** `header`: by its name in lower case. */
export function signedMessageOf(
  header: (name: string) => string | string[] | undefined,
  body: Uint8Array,
): SignedMessage {
  const text = (name: string): string => {
    const value = header(`wechatpay-${name}`)
    return typeof value === 'string' ? value : ''
  }
  return {
    seconds: text('timestamp'),
    nonce: text('nonce'),
    signature: text('signature'),
    serial: text('serial'),
    body,
  }
}
