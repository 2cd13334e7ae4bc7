/** The doctor's checks of settings that are valid and nevertheless surprise operators later. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { findSettingWarnings, type Config } from '../../config.ts'
import { publicUrlOf } from '../../http/public-urls.ts'
import { findTlsProblem } from '../../process/tls-listener.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const dayMs = 86_400_000
const renewalDays = 14

function checkCertificate(config: Config): Finding[] {
  const { tlsCertFile } = config
  if (tlsCertFile === null) return []
  const name = 'certificate'
  const problem = findTlsProblem(config)
  if (problem !== null) {
    const detail = `TLS_CERT_FILE and TLS_KEY_FILE cannot be used: ${problem}`
    return [fail(name, detail, 'Install a certificate and the key that belongs to it.')]
  }
  const { validToDate } = new X509Certificate(readFileSync(tlsCertFile))
  const days = Math.floor((validToDate.getTime() - Date.now()) / dayMs)
  const end = validToDate.toISOString().slice(0, 10)
  if (days < 0) return [fail(name, `${tlsCertFile} expired on ${end}`, 'Renew it; the relay reloads it.')]
  return days < renewalDays
    ? [warn(name, `${tlsCertFile} expires on ${end}`, 'Renew it; the relay reloads it.')]
    : [ok(name, `${tlsCertFile} is valid until ${end} and belongs to its key`)]
}

function checkMissing(config: Config): Finding[] {
  const findings: Finding[] = []
  if (config.publicUrl === null) {
    const detail = `PUBLIC_URL is not set: users are shown ${publicUrlOf(config)}`
    findings.push(warn('public address', detail, 'Set it to the URL under which users reach the relay.'))
  }
  if (config.smtpUrl === null) {
    const [detail, advice] =
      config.signUp === 'open'
        ? [
            'SIGN_UP is open and SMTP_URL is not set: anyone can sign up with an address that is not verified',
            'Set SMTP_URL, or SIGN_UP=invite.',
          ]
        : [
            'SMTP_URL is not set: the relay sends no e-mail, and users cannot reset their passwords',
            'Set SMTP_URL.',
          ]
    findings.push(warn('e-mail', detail, advice))
  }
  if (config.backupEveryMs === 0) {
    const advice = 'Set BACKUP_EVERY=1d, or run sluice backup regularly.'
    findings.push(warn('backups', 'BACKUP_EVERY is not set: there are no automatic backups', advice))
  }
  return findings
}

export function checkSettings(config: Config): Finding[] {
  const warnings = findSettingWarnings(config).map(({ problem, advice }) =>
    warn('configuration', problem, advice),
  )
  return [...warnings, ...checkMissing(config), ...checkCertificate(config)]
}
