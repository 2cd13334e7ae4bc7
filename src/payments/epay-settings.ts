/** The settings of epay: one site, one merchant, and the keys of one version of the protocol. */
import type { Config } from '../config.ts'
import { ConfigError } from '../lib/settings.ts'
import { md5Signer, rsaSigner, type EpaySigner } from './epay-signature.ts'
import { requireHttps, requireTogether } from './required-settings.ts'
import { readPrivateKey, readPublicKey } from './rsa-keys.ts'

export interface EpaySettings {
  readonly base: string
  readonly pid: string
  /** Of version 1; null: version 2. */
  readonly key: string | null
  readonly signer: EpaySigner
  readonly types: readonly string[]
  readonly trustsNotice: boolean
}

interface EpayKeys {
  readonly base: string
  readonly pid: string
  readonly key: string | null
  readonly signer: EpaySigner
}

function readKeys(config: Config): EpayKeys | null {
  const { epayBase: EPAY_BASE, epayPid: EPAY_PID, epayKey, epayPrivateKey, epayPublicKey } = config
  if (epayPrivateKey === null && epayPublicKey === null) {
    const values = requireTogether({ EPAY_BASE, EPAY_PID, EPAY_KEY: epayKey }, config, 'epay')
    if (values === null) return null
    const { EPAY_KEY } = values
    return { base: values.EPAY_BASE, pid: values.EPAY_PID, key: EPAY_KEY, signer: md5Signer(EPAY_KEY) }
  }
  if (epayKey !== null)
    throw new ConfigError([
      'Invalid EPAY_KEY: must not be set together with EPAY_PRIVATE_KEY, EPAY_PUBLIC_KEY',
    ])
  const keys = { EPAY_PRIVATE_KEY: epayPrivateKey, EPAY_PUBLIC_KEY: epayPublicKey }
  const values = requireTogether({ EPAY_BASE, EPAY_PID, ...keys }, config, 'epay')
  if (values === null) return null
  const signer = rsaSigner(
    readPrivateKey('EPAY_PRIVATE_KEY', values.EPAY_PRIVATE_KEY),
    readPublicKey('EPAY_PUBLIC_KEY', values.EPAY_PUBLIC_KEY),
  )
  return { base: values.EPAY_BASE, pid: values.EPAY_PID, key: null, signer }
}

/** null: not configured. Throws a `ConfigError` that names what is missing or wrong. */
export function readEpaySettings(config: Config): EpaySettings | null {
  const keys = readKeys(config)
  if (keys === null) return null
  requireHttps({ EPAY_BASE: keys.base }, config.paymentAllow)
  const { search, hash, username } = new URL(keys.base)
  if (search + hash + username !== '')
    throw new ConfigError(['Invalid EPAY_BASE: must have no user name, query or fragment'])
  if (!/^[\w-]{1,64}$/.test(keys.pid)) throw new ConfigError(['Invalid EPAY_PID: must be letters and digits'])
  // Page links of version 2 expire after five minutes; what `create` responds with needs the type.
  if (keys.key === null && config.epayTypes.length === 0)
    throw new ConfigError(['Invalid EPAY_TYPES: must be set together with EPAY_PRIVATE_KEY'])
  return { ...keys, types: config.epayTypes, trustsNotice: config.epayTrustNotice }
}
