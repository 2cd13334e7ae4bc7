import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readConfig } from '../../config.ts'
import { cert, key, makeCertificate } from '../../lib/certificate.fixture.ts'
import { checkSettings } from './settings.ts'

const complete = {
  PUBLIC_URL: 'https://relay.example',
  SMTP_URL: 'smtp://mail.example',
  BACKUP_EVERY: '1d',
}

function findingsOf(environment: Record<string, string>): string[] {
  return checkSettings(readConfig(environment)).map(
    ({ state, name, detail }) => `${state} ${name}: ${detail}`,
  )
}

describe('checkSettings', () => {
  test('missing settings – are warnings, and a complete configuration has none', () => {
    assert.deepEqual(findingsOf(complete), [])
    const findings = findingsOf({ SIGN_UP: 'open' })
    assert.match(findings[0] ?? '', /^warn public address: PUBLIC_URL is not set: users are shown http:/)
    assert.match(findings[1] ?? '', /^warn e-mail: SIGN_UP is open and SMTP_URL is not set/)
    assert.match(findings[2] ?? '', /^warn backups: BACKUP_EVERY is not set/)
    const closed = findingsOf({ ...complete, SMTP_URL: '', SIGN_UP: 'closed' })
    assert.match(closed.join(), /^warn e-mail: SMTP_URL is not set: the relay sends no e-mail/)
  })

  test('sign-up – is open by default only where addresses can be verified', () => {
    const environments = [{}, { SMTP_URL: 'smtp://127.0.0.1' }, { SMTP_URL: '' }, { SIGN_UP: 'open' }]
    assert.deepEqual(
      environments.map((environment) => readConfig(environment).signUp),
      ['invite', 'open', 'invite', 'open'],
    )
  })

  test('certificate – is a warning before it ends, and a failure if the key is another one’s', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
    writeFileSync(files.TLS_CERT_FILE, cert)
    writeFileSync(files.TLS_KEY_FILE, key)
    // It is valid for two days.
    assert.match(findingsOf({ ...complete, ...files }).join(), /^warn certificate: \S+ expires on \d{4}-/)
    writeFileSync(files.TLS_KEY_FILE, makeCertificate().key)
    const mismatch = findingsOf({ ...complete, ...files }).join()
    assert.match(mismatch, /^fail certificate: TLS_CERT_FILE and TLS_KEY_FILE cannot be used: .*mismatch/)
  })
})
