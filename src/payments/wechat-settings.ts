/** The settings of WeChat Pay: the merchant, the app, and the keys of both sides. */
import type { KeyObject } from 'node:crypto'
import type { Config } from '../config.ts'
import { ConfigError } from '../lib/settings.ts'
import { requireHttps, requireTogether } from './required-settings.ts'
import { readPrivateKey, readPublicKey } from './rsa-keys.ts'

export interface WechatSettings {
  readonly base: string
  readonly mchid: string
  readonly appid: string
  /** Of the merchant's API certificate. */
  readonly serial: string
  readonly privateKey: KeyObject
  /** Several while the merchant replaces it. */
  readonly v3Keys: readonly Buffer[]
  /** WeChat Pay's public keys by their ids, the present one first; empty: only its platform certificates count. */
  readonly publicKeys: ReadonlyMap<string, KeyObject>
}

const v3KeyBytes = 32

/** null: not configured. Throws a `ConfigError` that names what is missing or wrong. */
export function readWechatSettings(config: Config): WechatSettings | null {
  const values = readTogether(config)
  if (values === null) return null
  const { wechatBase: base, paymentAllow } = config
  requireHttps({ WECHAT_BASE: base }, paymentAllow)
  requireForm('WECHAT_MCHID', values.WECHAT_MCHID, /^\d{1,32}$/, 'digits')
  requireForm('WECHAT_APPID', values.WECHAT_APPID, /^\w{1,32}$/, 'the id of an app, such as wx…')
  requireForm('WECHAT_SERIAL', values.WECHAT_SERIAL, /^[\dA-Fa-f]{1,64}$/, 'hexadecimal digits')
  return {
    base,
    mchid: values.WECHAT_MCHID,
    appid: values.WECHAT_APPID,
    serial: values.WECHAT_SERIAL,
    privateKey: readPrivateKey('WECHAT_PRIVATE_KEY', values.WECHAT_PRIVATE_KEY),
    v3Keys: readV3Keys(values.WECHAT_V3_KEY),
    publicKeys: readPublicKeys(config.wechatPublicKeyId, config.wechatPublicKey),
  }
}

function readTogether(config: Config) {
  const merchant = {
    WECHAT_MCHID: config.wechatMchid,
    WECHAT_APPID: config.wechatAppid,
    WECHAT_SERIAL: config.wechatSerial,
    WECHAT_PRIVATE_KEY: config.wechatPrivateKey,
    WECHAT_V3_KEY: config.wechatV3Key,
  }
  const publicKey = {
    WECHAT_PUBLIC_KEY_ID: config.wechatPublicKeyId,
    WECHAT_PUBLIC_KEY: config.wechatPublicKey,
  }
  const hasPublicKey = Object.values(publicKey).some((value) => value !== null)
  return requireTogether(hasPublicKey ? { ...merchant, ...publicKey } : merchant, config, 'wechat')
}

function requireForm(setting: string, value: string, pattern: RegExp, form: string): void {
  if (!pattern.test(value)) throw new ConfigError([`Invalid ${setting}: must be ${form}`])
}

function readV3Keys(text: string): Buffer[] {
  const whole = Buffer.from(text)
  const keys = whole.length === v3KeyBytes ? [whole] : text.split(',').map((key) => Buffer.from(key.trim()))
  if (keys.some(({ length }) => length !== v3KeyBytes))
    throw new ConfigError([`Invalid WECHAT_V3_KEY: must be ${v3KeyBytes} bytes`])
  return keys
}

function readPublicKeys(idsText: string | null, keysText: string | null): ReadonlyMap<string, KeyObject> {
  if (idsText === null || keysText === null) return new Map()
  const ids = idsText.split(',').map((id) => id.trim())
  const keys = keysText.split(',')
  for (const id of ids) requireForm('WECHAT_PUBLIC_KEY_ID', id, /^PUB_KEY_ID_\w{1,64}$/, 'PUB_KEY_ID_…')
  if (ids.length !== keys.length)
    throw new ConfigError(['Invalid WECHAT_PUBLIC_KEY: must be as many keys as WECHAT_PUBLIC_KEY_ID names'])
  return new Map(ids.map((id, index) => [id, readPublicKey('WECHAT_PUBLIC_KEY', keys[index] ?? '')]))
}
