/** Calls of Alipay's gateway: each is signed, and no response counts before its signature was verified. */
import { ProviderError } from './payment-method.ts'
import { isSignedBy, signedText, signText, splitResponse, type AlipayResponse } from './alipay-signature.ts'
import type { AlipaySettings } from './alipay-settings.ts'
import type { PaymentMethodDeps } from './method-deps.ts'

/** A verified response. Alipay has carried out the call, or refused it for reasons of business (`refusal`). */
export interface AlipayResult {
  /** Such as `ACQ.TRADE_NOT_EXIST`; null: code 10000. */
  readonly refusal: string | null
  /** The text of a field; empty if it is absent. */
  readonly text: (name: string) => string
}

export type AlipayContent = Readonly<Record<string, string>>

const beijingOffsetMs = 8 * 3_600_000
const codePattern = /^[A-Za-z0-9._-]{1,64}$/

/** `2026-11-30 10:00:00`, in Beijing. */
export function beijingTime(at: number): string {
  return new Date(at + beijingOffsetMs).toISOString().slice(0, 19).replace('T', ' ')
}

/** Milliseconds of a time as Alipay writes it; null: it is none. */
export function parseBeijingTime(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return null
  const at = Date.parse(`${text.replace(' ', 'T')}+08:00`)
  return Number.isNaN(at) ? null : at
}

export class AlipayClient {
  readonly settings: AlipaySettings
  readonly #deps: PaymentMethodDeps

  constructor(settings: AlipaySettings, deps: PaymentMethodDeps) {
    this.settings = settings
    this.#deps = deps
  }

  /** The signed parameters of a call. `extra`: such as `notify_url`; those without a value are left out. */
  sign(method: string, content: AlipayContent, extra: AlipayContent = {}): URLSearchParams {
    const parameters = new URLSearchParams({
      app_id: this.settings.appId,
      method,
      format: 'JSON',
      charset: 'utf-8',
      sign_type: 'RSA2',
      timestamp: beijingTime(this.#deps.now()),
      version: '1.0',
      ...this.settings.certificates,
      ...extra,
      biz_content: JSON.stringify(content),
    })
    parameters.set('sign', signText(signedText(parameters), this.settings.privateKey))
    return parameters
  }

  /** Calls the gateway. Throws a `ProviderError` without a verified response of code 10000 or 40004. */
  async call(method: string, content: AlipayContent, extra?: AlipayContent): Promise<AlipayResult> {
    const url = new URL(this.settings.base)
    // The gateway decodes the body by this, before it reads the parameter of the same name.
    url.searchParams.set('charset', 'utf-8')
    const response = await this.#deps.http.request({
      method: 'POST',
      url: url.href,
      headers: { 'content-type': 'application/x-www-form-urlencoded;charset=utf-8' },
      body: this.sign(method, content, extra).toString(),
    })
    if (response.status !== 200)
      throw new ProviderError(`Alipay responded to ${method} with ${response.status}.`)
    return readResult(method, this.#verified(method, splitResponse(response.body, method)))
  }

  #verified(method: string, response: AlipayResponse | null): Buffer {
    if (response === null) throw new ProviderError(`The response of Alipay to ${method} is no JSON object.`)
    const { content, signature, certificate } = response
    if (content === null || signature === '')
      throw new ProviderError(
        `The response of Alipay to ${method} is unsigned${describe(content ?? response.error)}.`,
      )
    const { alipayKeys, certificates } = this.settings
    const keys = alipayKeys.filter((key) => certificates === null || key.certificate === certificate)
    if (keys.length === 0)
      throw new ProviderError('Alipay signs with a certificate that ALIPAY_CERT does not contain.')
    if (
      !isSignedBy(
        content,
        signature,
        keys.map(({ key }) => key),
      )
    )
      throw new ProviderError(`The response of Alipay to ${method} has a wrong signature.`)
    return content
  }
}

function parseFields(content: Buffer): ReadonlyMap<string, unknown> {
  const value: unknown = JSON.parse(content.toString())
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : [])
}

/** Codes of an unverifiable response, for a message: they show which setting is wrong. */
function describe(content: Buffer | null): string {
  if (content === null) return ''
  const fields = parseFields(content)
  const codes = ['code', 'sub_code'].map((name) => fields.get(name))
  const shown = codes.filter((code) => typeof code === 'string' && codePattern.test(code))
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`
}

function readResult(method: string, content: Buffer): AlipayResult {
  const fields = parseFields(content)
  const text = (name: string): string => {
    const value = fields.get(name)
    return typeof value === 'string' ? value : ''
  }
  const [code, refusal] = [text('code'), text('sub_code')]
  if (code === '10000') return { refusal: null, text }
  // ACQ.SYSTEM_ERROR and its like say that nothing is known, under the code of a refusal, too.
  const isUnknown = !codePattern.test(refusal) || /SYSTEM_?ERROR|UNKNOW/i.test(refusal)
  if (code !== '40004' || isUnknown)
    throw new ProviderError(`Alipay responded to ${method} with an error${describe(content)}.`)
  return { refusal, text }
}
