/**
 * Signatures of Alipay's gateway (RSA2: SHA256withRSA, PKCS#1 v1.5): which text is signed, and with which key.
 * Source: Alipay Open Platform, "signing and verifying by hand".
 */
import { createHash, sign, verify, X509Certificate, type KeyObject } from 'node:crypto'
import { scanJsonObject } from '../lib/json/json-scanner.ts'

/** The object identifiers 1.2.840.113549.1.1.*, in DER. */
const rsaAlgorithms = Buffer.from('2a864886f70d0101', 'hex')

/** The text that is signed: parameters with a value, by name, as `name=value` joined by `&`; values are not encoded. */
export function signedText(parameters: Iterable<readonly [string, string]>): string {
  return [...parameters]
    .filter(([name, value]) => name !== 'sign' && value !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** The signature as base64. */
export function signText(text: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(text), key).toString('base64')
}

/** Whether one of the keys made the signature: two are known while Alipay replaces its key. */
export function isSignedBy(text: string | Buffer, signature: string, keys: readonly KeyObject[]): boolean {
  const [data, bytes] = [Buffer.from(text), Buffer.from(signature, 'base64')]
  return bytes.length > 0 && keys.some((key) => verify('sha256', data, key, bytes))
}

export interface AlipayResponse {
  /** What is signed: the bytes of the inner object as received. null: there is none, as in an `error_response`. */
  readonly content: Buffer | null
  /** Empty: unsigned. */
  readonly signature: string
  /** The number of the certificate that signed; empty outside of the certificate mode. */
  readonly certificate: string
  /** `error_response`, which may be unsigned and is only good for messages. */
  readonly error: Buffer | null
}

/** Takes a response to the API method `method` apart. null: it is not one JSON object with distinct keys. */
export function splitResponse(body: Buffer, method: string): AlipayResponse | null {
  const scan = scanJsonObject(body)
  if (scan.kind !== 'object') return null
  const find = (key: string): Buffer | null => {
    const member = scan.members.find((known) => known.key === key)
    return member === undefined ? null : body.subarray(member.start, member.end)
  }
  const text = (key: string): string => {
    const value: unknown = JSON.parse(find(key)?.toString() ?? 'null')
    return typeof value === 'string' ? value : ''
  }
  return {
    content: find(`${method.replaceAll('.', '_')}_response`),
    signature: text('sign'),
    certificate: text('alipay_cert_sn'),
    error: find('error_response'),
  }
}

/** The certificates of a PEM file; several follow each other in Alipay's root file. */
export function splitCertificates(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/** Alipay's number of a certificate: MD5 of its issuer, last part first, and its serial number in decimal. */
export function certificateNumber(certificate: X509Certificate): string {
  const issuer = certificate.issuer.split('\n').toReversed().join(',')
  return createHash('md5')
    .update(`${issuer}${BigInt(`0x${certificate.serialNumber}`)}`)
    .digest('hex')
}

/** The numbers of those root certificates that were signed by RSA, joined by `_`: others belong to SM2. */
export function rootNumber(pem: string): string {
  return splitCertificates(pem)
    .map((text) => new X509Certificate(text))
    .filter((certificate) => isSignedByRsa(certificate.raw))
    .map((certificate) => certificateNumber(certificate))
    .join('_')
}

/** A certificate consists of the signed part, the algorithm, which begins with its identifier, and the signature. */
function isSignedByRsa(der: Buffer): boolean {
  const [, signedEnd] = contentRange(der, contentRange(der, 0)[0])
  const [start, end] = contentRange(der, contentRange(der, signedEnd)[0])
  return der.subarray(start, end).indexOf(rsaAlgorithms) === 0
}

/** Start and end of the content of the DER value at an offset. */
function contentRange(der: Buffer, at: number): readonly [number, number] {
  const length = der.readUInt8(at + 1)
  if (length < 0x80) return [at + 2, at + 2 + length]
  const lengthBytes = length & 0x7f
  const start = at + 2 + lengthBytes
  return [start, start + der.readUIntBE(at + 2, lengthBytes)]
}
