/** Signatures of epay (易支付): MD5 with a shared key in version 1, RSA in version 2, over the same text. */
import { createHash, sign, timingSafeEqual, verify, type KeyObject } from 'node:crypto'

/** Names and values, neither of them encoded. */
export type EpayFields = Readonly<Record<string, string>>

export interface EpaySigner {
  readonly type: 'MD5' | 'RSA'
  sign(fields: EpayFields): string
  verify(fields: EpayFields, signature: string): boolean
}

/** All fields with a value except the signature, by name: `money=1.00&name=Balance&pid=1001`. */
export function signedText(fields: EpayFields): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== '' && name !== 'sign' && name !== 'sign_type')
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** The key follows the text directly. */
export function md5Signer(key: string): EpaySigner {
  const digest = (fields: EpayFields): string =>
    createHash('md5')
      .update(signedText(fields) + key)
      .digest('hex')
  return {
    type: 'MD5',
    sign: digest,
    verify(fields, signature) {
      const [expected, given] = [Buffer.from(digest(fields)), Buffer.from(signature.toLowerCase())]
      return expected.length === given.length && timingSafeEqual(expected, given)
    },
  }
}

/** Signs with the merchant's key, verifies with the site's: SHA256withRSA (PKCS#1 v1.5), in base64. */
export function rsaSigner(privateKey: KeyObject, publicKey: KeyObject): EpaySigner {
  return {
    type: 'RSA',
    sign: (fields) => sign('sha256', Buffer.from(signedText(fields)), privateKey).toString('base64'),
    verify: (fields, signature) =>
      verify('sha256', Buffer.from(signedText(fields)), publicKey, Buffer.from(signature, 'base64')),
  }
}
