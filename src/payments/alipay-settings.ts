/** The settings of Alipay: the app, the merchant, and the keys of one of two modes. */
import { X509Certificate, type KeyObject } from 'node:crypto'
import type { Config } from '../config.ts'
import { ConfigError } from '../lib/settings.ts'
import { certificateNumber, rootNumber, splitCertificates } from './alipay-signature.ts'
import { requireHttps, requireTogether } from './required-settings.ts'
import { readPrivateKey, readPublicKey } from './rsa-keys.ts'

export interface AlipaySettings {
  readonly base: string
  readonly appId: string
  readonly sellerId: string
  readonly privateKey: KeyObject
  readonly products: readonly ('page' | 'qr')[]
  /** Alipay’s keys: several while it replaces one. */
  readonly alipayKeys: readonly AlipayKey[]
  /** What every request states in certificate mode; null: public-key mode. */
  readonly certificates: { readonly app_cert_sn: string; readonly alipay_root_cert_sn: string } | null
}

export interface AlipayKey {
  readonly key: KeyObject
  /** Of its certificate; empty in public-key mode. */
  readonly certificate: string
}

/** null: not configured. Throws a `ConfigError` that names what is missing or wrong. */
export function readAlipaySettings(config: Config): AlipaySettings | null {
  const values = readTogether(config)
  if (values === null) return null
  const { alipayBase: base, alipayProducts, paymentAllow } = config
  requireHttps({ ALIPAY_BASE: base }, paymentAllow)
  for (const name of ['ALIPAY_APP_ID', 'ALIPAY_SELLER_ID'] as const)
    if (!/^\d{1,32}$/.test(values[name])) throw new ConfigError([`Invalid ${name}: must be digits`])
  if (alipayProducts.length === 0) throw new ConfigError(['Invalid ALIPAY_PRODUCTS: must name a product'])
  return {
    base,
    appId: values.ALIPAY_APP_ID,
    sellerId: values.ALIPAY_SELLER_ID,
    privateKey: readPrivateKey('ALIPAY_PRIVATE_KEY', values.ALIPAY_PRIVATE_KEY),
    products: [...new Set(alipayProducts)],
    ...readAlipayKeys(values),
  }
}

function readTogether(config: Config) {
  const app = {
    ALIPAY_APP_ID: config.alipayAppId,
    ALIPAY_SELLER_ID: config.alipaySellerId,
    ALIPAY_PRIVATE_KEY: config.alipayPrivateKey,
  }
  const certificates = {
    ALIPAY_APP_CERT: config.alipayAppCert,
    ALIPAY_CERT: config.alipayCert,
    ALIPAY_ROOT_CERT: config.alipayRootCert,
  }
  const publicKey = config.alipayPublicKey
  if (Object.values(certificates).every((value) => value === null))
    return requireTogether({ ...app, ALIPAY_PUBLIC_KEY: publicKey }, config, 'alipay')
  if (publicKey !== null)
    throw new ConfigError(['Invalid ALIPAY_PUBLIC_KEY: must not be set together with ALIPAY_CERT'])
  return requireTogether({ ...app, ...certificates }, config, 'alipay')
}

function readAlipayKeys(
  values: NonNullable<ReturnType<typeof readTogether>>,
): Pick<AlipaySettings, 'alipayKeys' | 'certificates'> {
  if ('ALIPAY_PUBLIC_KEY' in values) {
    const texts = values.ALIPAY_PUBLIC_KEY.split(',')
    const alipayKeys = texts.map((text) => ({
      key: readPublicKey('ALIPAY_PUBLIC_KEY', text),
      certificate: '',
    }))
    return { alipayKeys, certificates: null }
  }
  const own = readCertificates('ALIPAY_APP_CERT', values.ALIPAY_APP_CERT)
  const root = namedOnError('ALIPAY_ROOT_CERT', () => rootNumber(values.ALIPAY_ROOT_CERT))
  return {
    alipayKeys: readCertificates('ALIPAY_CERT', values.ALIPAY_CERT),
    certificates: { app_cert_sn: own[0]?.certificate ?? '', alipay_root_cert_sn: root },
  }
}

function readCertificates(setting: string, pem: string): AlipayKey[] {
  return namedOnError(setting, () =>
    splitCertificates(pem).map((text) => {
      const certificate = new X509Certificate(text)
      return { key: certificate.publicKey, certificate: certificateNumber(certificate) }
    }),
  )
}

/** Nothing that OpenSSL says is repeated: it can quote the file. */
function namedOnError<Result extends { readonly length: number }>(
  setting: string,
  read: () => Result,
): Result {
  const problem = new ConfigError([`Invalid ${setting}: must be a certificate as PEM text`])
  try {
    const result = read()
    if (result.length === 0) throw problem
    return result
  } catch {
    throw problem
  }
}
