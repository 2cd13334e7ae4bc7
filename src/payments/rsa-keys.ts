/** RSA keys as payment providers hand them out: PEM, or its base64 without the lines around it. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { ConfigError } from '../lib/settings.ts'

/** The first reading that gives an RSA key. Providers do not say which form theirs is in. */
function readKey(setting: string, text: string, forms: readonly ((der: Buffer) => KeyObject)[]): KeyObject {
  const base64 = text.replaceAll(String.raw`\n`, '\n').replaceAll(/-----[A-Z ]+-----|\s/g, '')
  const der = Buffer.from(base64, 'base64')
  for (const read of forms) {
    try {
      const key = read(der)
      if (key.asymmetricKeyType === 'rsa') return key
    } catch {
      // Another form may fit.
    }
  }
  throw new ConfigError([`Invalid ${setting}: must be an RSA key as PEM text, or its base64`])
}

/** PKCS#8 or PKCS#1. Throws a `ConfigError` that names the setting, and never the key. */
export function readPrivateKey(setting: string, text: string): KeyObject {
  return readKey(setting, text, [
    (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
    (key) => createPrivateKey({ key, format: 'der', type: 'pkcs1' }),
  ])
}

/** SPKI or PKCS#1. Throws a `ConfigError` that names the setting. */
export function readPublicKey(setting: string, text: string): KeyObject {
  return readKey(setting, text, [
    (key) => createPublicKey({ key, format: 'der', type: 'spki' }),
    (key) => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
  ])
}
