/** The keys of the scripted WeChat Pay and of its merchant, and what it encrypts with the API v3 key. */
import { execFileSync } from 'node:child_process'
import { createCipheriv, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const makeKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 })

export const merchantKeys = makeKeys()
export const publicKeyPair = makeKeys()

export const v3Key = '0123456789abcdef0123456789abcdef'

export interface PlatformCertificate {
  /** 40 hexadecimal digits. */
  readonly serial: string
  readonly pem: string
  readonly privateKey: KeyObject
}

/** A certificate of the platform with a key and a serial number of its own. */
export function makePlatformCertificate(days = 2): PlatformCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-wechat-'))
  // The first digit is not 0, and the number is positive.
  const serial = `5${randomBytes(20).toString('hex').toUpperCase().slice(1)}`
  try {
    const file = join(folder, 'key.pem')
    const { privateKey } = makeKeys()
    writeFileSync(file, privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const options = ['-key', file, '-days', String(days), '-subj', '/O=Tenpay.com/CN=Tenpay.com Root CA']
    const pem = execFileSync('openssl', ['req', '-x509', '-new', ...options, '-set_serial', `0x${serial}`], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
    return { serial, pem, privateKey }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A resource as WeChat Pay encrypts it. */
export function sealResource(text: string, associatedData: string, key = v3Key) {
  const nonce = randomBytes(6).toString('hex')
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(associatedData))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return {
    algorithm: 'AEAD_AES_256_GCM',
    ciphertext: sealed.toString('base64'),
    nonce,
    associated_data: associatedData,
  }
}
