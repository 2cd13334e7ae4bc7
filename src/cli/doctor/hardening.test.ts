import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readConfig } from '../../config.ts'
import { checkHardeningSettings, checkProcess, checkProcessFiles } from './hardening.ts'

const hardened = { NODE_ENV: 'production', ENCRYPTION_KEY: 'at least 16 characters' }

function settingFindings(environment: Record<string, string>): string[] {
  return checkHardeningSettings(readConfig({ ...hardened, ...environment })).map(({ detail }) => detail)
}

const confined = {
  status: 'Name:\tnode\nUid:\t998\t998\t998\t998\nCapPrm:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n',
  limits: 'Max core file size        0                    0                    bytes     \n',
  mountInfo: '1 0 254:0 / / rw,relatime - ext4 /dev/vda rw\n2 1 254:0 / / ro,relatime - ext4 /dev/vda rw\n',
}

describe('checkHardeningSettings', () => {
  test('defaults in production with an ENCRYPTION_KEY – have no finding', () => {
    assert.deepEqual(settingFindings({}), [])
    const onlyDefaults = checkHardeningSettings(readConfig({}))
    assert.deepEqual(
      onlyDefaults.map(({ state, detail }) => [state, detail.split(' ')[0]]),
      [
        ['warn', 'NODE_ENV'],
        ['warn', 'ENCRYPTION_KEY'],
      ],
    )
  })

  test('each setting that is off – is a finding, and its narrow form is none', () => {
    const cases: [off: Record<string, string>, expected: RegExp, on: Record<string, string>][] = [
      [{ HOST: '0.0.0.0' }, /^HOST=0\.0\.0\.0 without TLS/, { HOST: '::1' }],
      [{ HOST: '::' }, /^HOST=:: without TLS/, { HOST: '::', TRUST_PROXY: '10.0.0.7' }],
      [
        { PUBLIC_URL: 'http://relay.example.com' },
        /^http:\/\/relay\.example\.com is not https/,
        { PUBLIC_URL: 'https://relay.example.com' },
      ],
      [
        { TRUST_PROXY: '127.0.0.1/32,10.0.0.0/8' },
        /^TRUST_PROXY contains 10\.0\.0\.0\/8:/,
        { TRUST_PROXY: '10.1.2.0/24,fd00:0:0:1::/64' },
      ],
      [{ UPSTREAM_ALLOW: 'fd00::/8' }, /^UPSTREAM_ALLOW contains fd00::\/8:/, { UPSTREAM_ALLOW: '10.0.0.5' }],
      [
        { CHANNEL_ALLOW: '192.168.0.0/16' },
        /^CHANNEL_ALLOW contains 192\.168\.0\.0\/16:/,
        { CHANNEL_ALLOW: '192.168.1.4/32' },
      ],
      [{ CORS_ORIGINS: '*' }, /^CORS_ORIGINS is \*/, { CORS_ORIGINS: 'https://app.example' }],
      [
        { DATABASE_URL: 'postgres://u@db.internal/sluice' },
        /PostgreSQL at db\.internal is not encrypted$/,
        { DATABASE_URL: 'postgres://u@db.internal/sluice?sslmode=verify-full' },
      ],
      [
        { DATABASE_URL: 'postgres://u@db.internal/sluice?sslmode=no-verify' },
        /PostgreSQL at db\.internal is not verified/,
        { DATABASE_URL: 'postgres://u@postgres/sluice' },
      ],
      [
        { DATABASE_URL: 'postgres://u@127.0.0.1/sluice', REDIS_URL: 'redis://redis.internal' },
        /^the connection to Redis at redis\.internal is not encrypted$/,
        { DATABASE_URL: 'postgres://u@127.0.0.1/sluice', REDIS_URL: 'rediss://redis.internal' },
      ],
    ]
    for (const [off, expected, on] of cases) {
      const findings = settingFindings(off)
      assert.equal(findings.length, 1, JSON.stringify(off))
      assert.match(findings[0] ?? '', expected)
      assert.deepEqual(settingFindings(on), [], JSON.stringify(on))
    }
  })

  test('TLS key that every user can read – is a finding', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
    writeFileSync(files.TLS_KEY_FILE, '')
    chmodSync(files.TLS_KEY_FILE, 0o640)
    assert.deepEqual(settingFindings(files), [])
    chmodSync(files.TLS_KEY_FILE, 0o644)
    assert.match(settingFindings(files).join(), /key\.pem is accessible to every user/)
  })
})

describe('checkProcessFiles', () => {
  test('confined process – is ok, also with the capability to bind a low port', () => {
    const expected = [{ name: 'hardening', state: 'ok', detail: 'the process of the relay is confined' }]
    assert.deepEqual(checkProcessFiles(confined), expected)
    const status = confined.status.replace('CapPrm:\t0000000000000000', 'CapPrm:\t0000000000000400')
    assert.deepEqual(checkProcessFiles({ ...confined, status }), expected)
  })

  test('each part of the confinement that is off – is a warning that says how to turn it on', () => {
    const { status, limits, mountInfo } = confined
    const cases: [files: Partial<typeof confined>, expected: RegExp, advice: RegExp][] = [
      [{ status: status.replaceAll('998', '0') }, /runs as root/, /User=sluice/],
      [{ status: status.replace('Privs:\t1', 'Privs:\t0') }, /gain privileges/, /NoNewPrivileges=true/],
      [{ status: status.replace('0\nNo', '1\nNo') }, /capabilities \(0{15}1\)/, /CapabilityBoundingSet=/],
      [{ status: status.replace('Seccomp:\t2', 'Seccomp:\t0') }, /system calls/, /SystemCallFilter=/],
      [{ mountInfo: mountInfo.split('\n')[0] ?? '' }, /file system is writable/, /ProtectSystem=strict/],
      [{ limits: limits.replace('0 ', 'unlimited ') }, /core file/, /LimitCORE=0/],
    ]
    for (const [files, expected, advice] of cases) {
      const findings = checkProcessFiles({ ...confined, ...files })
      assert.deepEqual(
        findings.map(({ state }) => state),
        ['warn'],
        expected.source,
      )
      assert.match(findings[0]?.detail ?? '', expected)
      assert.match(findings[0]?.advice ?? '', advice)
    }
  })

  test('kernel without these fields – is no finding', () => {
    assert.equal(checkProcessFiles({ ...confined, status: 'Name:\tnode\n' })[0]?.state, 'ok')
  })
})

describe('checkProcess', () => {
  test('relay that is not running – is not checked', { skip: process.platform !== 'linux' }, () => {
    const [finding] = checkProcess('/nowhere', false)
    assert.deepEqual([finding?.state, finding?.detail.includes('while it runs')], ['ok', true])
  })
})
