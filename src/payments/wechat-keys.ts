/**
 * Which keys WeChat Pay signs with: its public keys, which the operator set, and its platform certificates, which are
 * fetched. Both count at once, because WeChat Pay moves a merchant from one to the other gradually.
 */
import { X509Certificate, type KeyObject } from 'node:crypto'
import { ProviderError } from './payment-method.ts'
import { isSignedBy, openResource, type SignedMessage } from './wechat-signature.ts'
import { WechatObject } from './wechat-object.ts'
import type { WechatSettings } from './wechat-settings.ts'

/** Of the list of certificates, as received. */
export interface CertificateList {
  readonly status: number
  readonly message: SignedMessage
}

export interface WechatKeysDeps {
  readonly settings: WechatSettings
  /** Asks for the list. Throws a `ProviderError`. */
  readonly fetchList: () => Promise<CertificateList>
  readonly now: () => number
}

/** WeChat Pay asks to fetch the list at most every 12 hours, and at least every day. */
const refreshAfterMs = 86_400_000
/** Serial numbers of forged notices are unknown, too: they cause no more than one request in this time. */
const attemptAfterMs = 60_000
const maxAgeMs = 300_000
/** WeChat Pay sends wrong signatures on purpose, and warns merchants that accept them. */
const probePrefix = 'WECHATPAY/SIGNTEST/'

interface PlatformCertificate {
  readonly key: KeyObject
  readonly validTo: number
}

export class WechatKeys {
  readonly #deps: WechatKeysDeps
  /** By serial number. Old ones stay until they expire. */
  readonly #certificates = new Map<string, PlatformCertificate>()
  #fetchedAt = Number.NEGATIVE_INFINITY
  #attemptedAt = Number.NEGATIVE_INFINITY
  #attempt: Promise<void> = Promise.resolve()

  constructor(deps: WechatKeysDeps) {
    this.#deps = deps
  }

  /**
   * What is wrong with the signature of a response or a notice; null: nothing. Throws a `ProviderError` if its certificate
   * could not be fetched: then nothing is known about it.
   */
  async problemOf(message: SignedMessage): Promise<string | null> {
    const problem = this.#formProblemOf(message)
    if (problem !== null) return problem
    const key = await this.#keyOf(message.serial)
    if (key === null) return 'is signed with an unknown key'
    return isSignedBy(message, key) ? null : 'has a wrong signature'
  }

  #formProblemOf({ signature, seconds, nonce }: SignedMessage): string | null {
    if (signature === '' || signature.startsWith(probePrefix) || nonce === '') return 'is unsigned'
    if (!/^\d{1,11}$/.test(seconds)) return 'has no time'
    const aheadMs = Number(seconds) * 1000 - this.#deps.now()
    if (Math.abs(aheadMs) <= maxAgeMs) return null
    const distance = Math.round(Math.abs(aheadMs) / 1000)
    return `is ${distance} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine’s clock`
  }

  /** null: the key is not known. */
  async #keyOf(serial: string): Promise<KeyObject | null> {
    const { settings, now } = this.#deps
    const known = settings.publicKeys.get(serial) ?? this.#certificateKeyOf(serial)
    if (known !== null) {
      // What is known stays good while it is renewed, and if that fails.
      if (this.#certificates.size > 0 && now() - this.#fetchedAt >= refreshAfterMs)
        this.#refresh().catch(() => undefined)
      return known
    }
    if (!/^[\dA-F]{8,64}$/i.test(serial)) return null
    await this.#refresh()
    return this.#certificateKeyOf(serial)
  }

  #certificateKeyOf(serial: string): KeyObject | null {
    const certificate = this.#certificates.get(serial.toUpperCase())
    return certificate === undefined || certificate.validTo < this.#deps.now() ? null : certificate.key
  }

  /** Fetches the list, unless that was tried a short time ago; then the result is that of the last attempt. */
  #refresh(): Promise<void> {
    const now = this.#deps.now()
    if (now - this.#attemptedAt >= attemptAfterMs) {
      this.#attemptedAt = now
      this.#attempt = this.#readList()
    }
    return this.#attempt
  }

  async #readList(): Promise<void> {
    const { settings, fetchList, now } = this.#deps
    const { status, message } = await fetchList()
    const body = WechatObject.parse(message.body)
    // The list of merchants without certificates is a signed 404.
    const isEmpty = status === 404 && settings.publicKeys.has(message.serial)
    const fetched = isEmpty ? new Map<string, PlatformCertificate>() : this.#open(status, body)
    const key =
      settings.publicKeys.get(message.serial) ??
      fetched.get(message.serial.toUpperCase())?.key ??
      this.#certificateKeyOf(message.serial)
    const problem =
      this.#formProblemOf(message) ??
      (key !== null && isSignedBy(message, key) ? null : 'has a wrong signature')
    if (problem !== null) throw new ProviderError(`WeChat Pay’s list of certificates ${problem}.`)
    for (const [serial, certificate] of fetched) this.#certificates.set(serial, certificate)
    this.#fetchedAt = now()
  }

  /** The certificates of the list. That the API v3 key opens them shows that they are WeChat Pay's. */
  #open(status: number, body: WechatObject | null): Map<string, PlatformCertificate> {
    const list = status === 200 ? body?.objects('data') : null
    if (list === null || list === undefined)
      throw new ProviderError(`WeChat Pay responded to the request for its certificates with ${status}.`)
    return new Map(list.map((item) => this.#openCertificate(item)))
  }

  #openCertificate(item: WechatObject): [string, PlatformCertificate] {
    const resource = item.object('encrypt_certificate')
    const pem = resource === null ? null : openResource(resourceOf(resource), this.#deps.settings.v3Keys)
    if (pem === null) throw new ProviderError('WECHAT_V3_KEY does not open the certificates of WeChat Pay.')
    try {
      const certificate = new X509Certificate(pem)
      const validTo = Date.parse(certificate.validTo)
      return [certificate.serialNumber.toUpperCase(), { key: certificate.publicKey, validTo }]
    } catch {
      throw new ProviderError('A certificate of WeChat Pay cannot be read.')
    }
  }
}

export function resourceOf(resource: WechatObject) {
  return {
    ciphertext: resource.text('ciphertext'),
    nonce: resource.text('nonce'),
    associatedData: resource.text('associated_data'),
  }
}
