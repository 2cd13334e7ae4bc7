import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { readConfig } from '../../config.ts'
import { checkDirectory, describeUnready } from './machine.ts'
import type { Finding } from './finding.ts'

const [relayUser, otherUser] = [1000, 1001]
const module = new URL('./machine.ts', import.meta.url).href
const script = `import { checkDirectory } from ${JSON.stringify(module)}
process.stdout.write(JSON.stringify(checkDirectory(process.argv[1])))`

/** Runs the check as a user; `null` if that user cannot read these sources. */
function checkAs(user: number, dataDir: string): Finding | null {
  const args = ['--input-type=module', '--eval', script, dataDir]
  const { status, stdout } = spawnSync(process.execPath, args, { uid: user, gid: user, encoding: 'utf8' })
  return status === 0 ? (JSON.parse(stdout) as Finding) : null
}

function canRunAs(user: number): boolean {
  return process.getuid?.() === 0 && checkAs(user, '/nowhere') !== null
}

const skip = canRunAs(relayUser) ? false : 'requires root, and sources that other users can read'

/** A volume as Kubernetes mounts it with `fsGroup`. */
function createVolume(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-volume-'))
  t.after(() => rmSync(path, { recursive: true }))
  chownSync(path, 0, relayUser)
  chmodSync(path, 0o2775)
  mkdirSync(join(path, 'lost+found'), 0o700)
  return path
}

function createFile(user: number, dataDir: string): void {
  const path = join(dataDir, `of-${user}`)
  writeFileSync(path, '', { mode: 0o600 })
  chownSync(path, user, relayUser)
}

describe('checkDirectory', () => {
  test('volume of another user – ok if its files belong to this user', { skip }, (t) => {
    const dataDir = createVolume(t)
    assert.equal(checkAs(relayUser, dataDir)?.state, 'ok', 'before the first start')
    createFile(relayUser, dataDir)
    assert.equal(checkAs(relayUser, dataDir)?.state, 'ok')
    assert.equal(checkAs(otherUser, dataDir)?.state, 'fail')
    chmodSync(dataDir, 0o2777)
    assert.match(checkAs(relayUser, dataDir)?.detail ?? '', /is accessible to other users/)
    chmodSync(dataDir, 0o2775)
    createFile(otherUser, dataDir)
    const { state, detail } = checkAs(relayUser, dataDir) ?? {}
    assert.deepEqual([state, detail], ['warn', `${dataDir} has files of user 1001, but this is user 1000`])
  })

  test('root in another user’s directory – warned unless its files are root’s', { skip }, (t) => {
    const dataDir = createVolume(t)
    chownSync(dataDir, relayUser, relayUser)
    assert.equal(checkDirectory(dataDir).state, 'warn', 'before the first start')
    createFile(0, dataDir)
    assert.equal(checkDirectory(dataDir).state, 'ok')
    createFile(relayUser, dataDir)
    assert.equal(checkDirectory(dataDir).state, 'warn')
  })
})

describe('describeUnready', () => {
  const alone = readConfig({ DATA_DIR: '/data' })
  const cluster = readConfig({ DATABASE_URL: 'postgres://u:secret@db.internal:5432/sluice' })
  const ready = 'sluice_admitting 1\nsluice_ledger_consistent 1\n'

  test('503 of /readyz – names the component that is not ready', () => {
    const describe = (metrics: string, config = alone) => describeUnready(metrics, config).detail
    assert.match(describe(ready), /port 8080 is not ready \(503\): it is starting or shutting down$/)
    const full = ready.replace('admitting 1', 'admitting 0')
    assert.match(describe(full), /: the database in \/data accepts no commits$/)
    assert.match(describe(full, cluster), /: PostgreSQL at db\.internal:5432 accepts no commits$/)
    assert.match(describe(full.replace('consistent 1', 'consistent 0')), /: its ledger does not add up/)
  })
})
