/**
 * Signatures and resources of WeChat Pay, API v3 (SHA256withRSA, PKCS#1 v1.5; AES-256-GCM): which text is signed, and what
 * the API v3 key opens. Source: WeChat Pay's documentation for merchants, "API v3 rules".
 */
import { createDecipheriv, sign, verify, type KeyObject } from 'node:crypto'

const tagBytes = 16
const nonceBytes = 12

/** What a request's signature covers. */
export interface RequestToSign {
  readonly method: 'GET' | 'POST'
  /** With the query, as it is sent. */
  readonly path: string
  readonly seconds: string
  readonly nonce: string
  /** Empty: none. */
  readonly body: string
}

/** The headers of a response or a notice, and its body as received. Absent headers are empty. */
export interface SignedMessage {
  readonly seconds: string
  readonly nonce: string
  readonly signature: string
  /** Of the key: 40 hexadecimal digits for a platform certificate, `PUB_KEY_ID_…` for a public key. */
  readonly serial: string
  readonly body: Uint8Array
}

/** Five lines, each with an end, the last one empty without a body. */
export function requestText({ method, path, seconds, nonce, body }: RequestToSign): string {
  return `${[method, path, seconds, nonce, body].join('\n')}\n`
}

/** Three lines, each with an end. */
export function messageText({
  seconds,
  nonce,
  body,
}: Pick<SignedMessage, 'seconds' | 'nonce' | 'body'>): Buffer {
  return Buffer.concat([Buffer.from(`${seconds}\n${nonce}\n`), body, Buffer.from('\n')])
}

/** The value of the header `Authorization`. */
export function authorizationOf(
  request: RequestToSign,
  merchant: { readonly mchid: string; readonly serial: string; readonly privateKey: KeyObject },
): string {
  const signature = sign('sha256', Buffer.from(requestText(request)), merchant.privateKey).toString('base64')
  const fields = {
    mchid: merchant.mchid,
    nonce_str: request.nonce,
    signature,
    timestamp: request.seconds,
    serial_no: merchant.serial,
  }
  const listed = Object.entries(fields).map(([name, value]) => `${name}="${value}"`)
  return `WECHATPAY2-SHA256-RSA2048 ${listed.join(',')}`
}

/** Whether the key made the signature. */
export function isSignedBy(message: SignedMessage, key: KeyObject): boolean {
  return verify('sha256', messageText(message), key, Buffer.from(message.signature, 'base64'))
}

/** An encrypted part of a notice or of the list of certificates. */
export interface EncryptedResource {
  /** Base64 of the encrypted text and the tag after it. */
  readonly ciphertext: string
  readonly nonce: string
  /** Additional authenticated data; may be empty. */
  readonly associatedData: string
}

/** The text of a resource; null: none of the API v3 keys has encrypted it. */
export function openResource(resource: EncryptedResource, v3Keys: readonly Buffer[]): Buffer | null {
  const sealed = Buffer.from(resource.ciphertext, 'base64')
  const nonce = Buffer.from(resource.nonce)
  if (sealed.length < tagBytes || nonce.length !== nonceBytes) return null
  for (const key of v3Keys) {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(resource.associatedData))
    decipher.setAuthTag(sealed.subarray(-tagBytes))
    const opened = decipher.update(sealed.subarray(0, -tagBytes))
    try {
      return Buffer.concat([opened, decipher.final()])
    } catch {
      // Another key may fit.
    }
  }
  return null
}
