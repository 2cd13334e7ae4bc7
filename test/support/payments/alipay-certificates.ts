/** The files of Alipay's certificate mode, made anew, and their numbers computed from what they were made with. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { alipayKeys, appKeys } from './alipay-keys.ts'

export interface AlipayCertificates {
  readonly settings: Readonly<Record<string, string>>
  readonly appNumber: string
  readonly alipayNumber: string
  readonly rootNumber: string
}

const subject = '/C=CN/O=Ant Financial/OU=Certification Authority/CN=Ant Financial'

/** By the rule of Alipay: the subject's parts from last to first, and the serial number in decimal. */
export function numberOf(serial: string): string {
  const name = 'CN=Ant Financial,OU=Certification Authority,O=Ant Financial,C=CN'
  return createHash('md5').update(`${name}${serial}`).digest('hex')
}

export function makeAlipayCertificates(): AlipayCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-alipay-'))
  const make = (serial: string, key: string): string => {
    const file = join(folder, 'key.pem')
    writeFileSync(file, key)
    const options = ['-key', file, '-days', '2', '-subj', subject, '-set_serial', serial]
    return execFileSync('openssl', ['req', '-x509', '-new', ...options], { encoding: 'utf8', stdio: 'pipe' })
  }
  const pem = (key: typeof appKeys.privateKey): string => String(key.export({ format: 'pem', type: 'pkcs8' }))
  try {
    const elliptic = execFileSync('openssl', 'ecparam -name prime256v1 -genkey -noout'.split(' '), {
      encoding: 'utf8',
      stdio: 'pipe',
    })
    const root = pem(alipayKeys.privateKey)
    // The second root certificate is not signed by RSA, as those of SM2 in Alipay's file.
    const roots = [make('74119208765432101234', root), make('7', elliptic), make('12', root)]
    return {
      settings: {
        ALIPAY_PRIVATE_KEY: pem(appKeys.privateKey),
        ALIPAY_APP_CERT: make('255', pem(appKeys.privateKey)),
        ALIPAY_CERT: make('98765432109876543210', root),
        ALIPAY_ROOT_CERT: roots.join('\n'),
      },
      appNumber: numberOf('255'),
      alipayNumber: numberOf('98765432109876543210'),
      rootNumber: `${numberOf('74119208765432101234')}_${numberOf('12')}`,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
